// Unpack the browser with the libraries that it needs into TMPDIR: `python -m tools.install` does it.
// The package brings those libraries for one of Amazon's machines, so this says that it is one.
process.env.AWS_EXECUTION_ENV = "AWS_Lambda_nodejs22.x";
const { default: chromium } = await import("@sparticuz/chromium");
await chromium.executablePath();
