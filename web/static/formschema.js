// @ts-check
// Which kind of field a JSON Schema wants, and what a new item of a list starts from.

/**
 * @param {any} schema
 * @returns {"object" | "array" | "string" | "number" | "integer" | "boolean" | null} null for JSON
 */
export function kindOf(schema) {
  if (!schema || typeof schema !== "object") return null;
  if (schema.anyOf || schema.oneOf || schema.allOf || schema.$ref) return null;
  const kind = Array.isArray(schema.type) ? schema.type.find((/** @type {unknown} */ one) => one !== "null") : schema.type;
  if (kind === "object") return schema.properties ? "object" : null;
  if (kind === undefined && Array.isArray(schema.enum)) return "string";
  return ["array", "string", "number", "integer", "boolean"].includes(kind) ? kind : null;
}

/**
 * What a new item of a list starts from: its fixed values, and what it must have, empty.
 *
 * @param {any} schema
 * @returns {string}
 */
export function skeleton(schema) {
  switch (kindOf(schema)) {
    case "object": {
      const needed = new Set(schema.required ?? []);
      const parts = Object.entries(schema.properties)
        .filter(([name, part]) => needed.has(name) || (part && "const" in part))
        .map(([name, part]) => `  ${JSON.stringify(name)}: ${skeleton(part).replaceAll("\n", "\n  ")}`);
      return parts.length ? `{\n${parts.join(",\n")}\n}` : "{}";
    }
    case "array": return "[]";
    case "string": return Array.isArray(schema.enum) ? JSON.stringify(schema.enum[0]) : '""';
    case "number": case "integer": return "0";
    case "boolean": return "false";
    default:
      if (schema && "const" in schema) return JSON.stringify(schema.const);
      return '{\n  "type": "object"\n}';
  }
}
