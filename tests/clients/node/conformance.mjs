// The official conformance suite: node conformance.mjs ARGUMENTS…
// It imports `globSync` from `fs`, which Node.js has from version 22 on, and does not need it here.
import fs from "node:fs";
import { register } from "node:module";

const SUITE = "@modelcontextprotocol/conformance";
const HOOKS = `
export async function resolve(specifier, context, next) {
  if (specifier === "fs" && context.parentURL?.includes("/conformance/dist/")) {
    return { url: "humanmcp:fs", shortCircuit: true };
  }
  return next(specifier, context);
}
export async function load(url, context, next) {
  if (url !== "humanmcp:fs") return next(url, context);
  const names = 'export * from "node:fs"; export { default } from "node:fs";';
  const source = names + " export const globSync = () => [];";
  return { format: "module", source, shortCircuit: true };
}`;

if (!("globSync" in fs)) {
  register("data:text/javascript," + encodeURIComponent(HOOKS));
}
await import(new URL(`node_modules/${SUITE}/dist/index.js`, import.meta.url).href);
