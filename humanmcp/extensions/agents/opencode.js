// humanmcp: permission prompts go to your inbox. Written by `humanmcp config opencode --approvals`.
// Its own dialog stays open: the first answer counts. Without humanmcp, it alone asks.
import { spawn } from "node:child_process"

const COMMAND = []

export const humanmcp = async ({ client, directory }) => {
  const hooks = new Map()

  const reply = async (id, decided) => {
    const allows = decided.behavior === "allow"
    await client._client.post({
      url: "/permission/{requestID}/reply",
      path: { requestID: id },
      headers: { "Content-Type": "application/json" },
      body: allows ? { reply: "once" } : { reply: "reject", message: decided.message },
    })
  }

  const ask = ({ id, sessionID, permission, patterns, metadata }) => {
    const hook = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    const said = []
    hooks.set(id, hook)
    hook.on("error", () => hooks.delete(id))
    hook.stdin.on("error", () => {})
    hook.stdout.on("data", (piece) => said.push(piece))
    hook.on("close", (status) => {
      const text = Buffer.concat(said).toString("utf8").trim()
      if (hooks.delete(id) && status === 0 && text) reply(id, JSON.parse(text)).catch(() => {})
    })
    hook.stdin.end(
      JSON.stringify({
        hook_event_name: "permission.asked",
        session_id: sessionID,
        cwd: directory,
        tool_name: permission,
        tool_input: { ...metadata, patterns },
      }),
    )
  }

  return {
    event: async ({ event }) => {
      if (event.type === "permission.asked") ask(event.properties)
      if (event.type === "permission.replied") {
        const hook = hooks.get(event.properties.requestID)
        hooks.delete(event.properties.requestID)
        hook?.kill()
      }
    },
  }
}
