// Exit code 0 if the process of this container is live. An argument sets another path, such as /health/ready.
const port = process.env.WATTLEDGER_PORT ?? '8080'
const [path = '/health/live'] = process.argv.slice(2)
try {
  const { ok, status } = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4_000) })
  if (!ok) console.error(`${path} answered ${status}`)
  process.exitCode = ok ? 0 : 1
} catch (error) {
  console.error(`${path} did not answer: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
