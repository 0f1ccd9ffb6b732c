// Prepares the project: installs the locked packages and links the packaged Node. Plain JavaScript for Node 20 or newer.
import { install } from './install.mjs'

const usage = `Usage: node deploy/setup.mjs [--omit=dev]

Installs the packages of package-lock.json and links the packaged Node at node_modules/.bin/node.
Does nothing if the packages are installed.

  --omit=dev   Install only the packages that the service needs, without those of the tests and checks.`

const args = process.argv.slice(2)
const unknown = args.find(arg => !['--omit=dev', '--help', '-h'].includes(arg))
if (unknown !== undefined) {
  console.error(`Unknown argument ${JSON.stringify(unknown)}.\n\n${usage}`)
  process.exit(2)
}
if (args.includes('--help') || args.includes('-h')) console.log(usage)
else await install({ omitDev: args.includes('--omit=dev') })
