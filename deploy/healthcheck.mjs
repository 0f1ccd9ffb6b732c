// Ends with 0 where the process of this container is live; another path, such as /health/ready, as its word.
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
