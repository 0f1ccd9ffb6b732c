import { startEmbeddedServer } from '../../../../../services/platform/postgres/embedded/embedded-server.ts'

/** Runs the embedded server in a folder until SIGINT, which `deaf` makes it ignore. Prints one line of JSON: the address, or the failure's code. */
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
