import { startEmbeddedServer } from '../../../../../services/platform/postgres/embedded/embedded-server.ts'

/**
 * Runs the embedded server in a folder until SIGINT, unless `deaf` is set. Prints one line of JSON: the address, or the
 * code of the failure.
 */
const [folder = '', fault] = process.argv.slice(2)
try {
  const server = await startEmbeddedServer({ dataFolder: folder })
  process.on('SIGINT', async () => {
    if (fault !== 'deaf') await server[Symbol.asyncDispose]()
  })
  process.stdout.write(`${JSON.stringify({ address: server.address })}\n`)
} catch (error) {
  process.stdout.write(`${JSON.stringify({ code: (error as { code: string }).code })}\n`)
}
