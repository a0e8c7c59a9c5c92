// The weather session as a host has it: list the tools, call one three times, say what came back.

/** Run the session and print what the client understood, as one line of JSON. */
export async function weather(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const answers = [];
  for (const location of ["東京", "大阪", "北海道"]) {
    answers.push(await call(client, location));
  }
  const server = client.getServerVersion()?.name ?? "";
  const version = client.getNegotiatedProtocolVersion?.() ?? "";
  await client.close();
  console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers, server, version }));
}

async function call(client, location) {
  try {
    const result = await client.callTool({ name: "get-japan-forecast", arguments: { location } });
    return { text: result.content.map((item) => item.text).join(" ") };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}
