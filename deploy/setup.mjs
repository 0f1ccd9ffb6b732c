// Prepares the project: installs the locked packages and links the packaged Node at node_modules/.bin/node.
// Plain JavaScript for Node 20 or newer, because it runs before the installation. Does nothing if nothing changed.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { thisPlatform, unverifiedOn } from './lock-entries.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.wattledger-setup')
const linkedNode = join(modules, '.bin', 'node')
const minNodeMajor = 24

function exitWithError(message) {
  console.error(`\nwattledger: ${message}`)
  process.exit(1)
}

function stampNow() {
  const hash = createHash('sha256')
  for (const name of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(root, name)))
  return `${hash.digest('hex')} ${process.platform} ${process.arch}`
}

/** Run npm in the project and print a progress line every 5 s. */
function npm(args) {
  const script = process.env.npm_execpath
  const [command, prefix] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []]
  const startedAt = Date.now()
  const progressTimer = setInterval(() => console.error(`  … ${Math.round((Date.now() - startedAt) / 1000)} s`), 5000)
  return new Promise(resolve => {
    const child = spawn(command, [...prefix, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
    const finish = code => {
      clearInterval(progressTimer)
      resolve(code)
    }
    child.on('error', error => {
      console.error(String(error))
      finish(127)
    })
    child.on('exit', code => finish(code ?? 1))
  })
}

function versionOf(node) {
  const run = spawnSync(node, ['--version'], { encoding: 'utf8' })
  return run.status === 0 ? run.stdout.trim() : null
}

const isSupportedVersion = version => version !== null && Number(version.slice(1).split('.')[0]) >= minNodeMajor

/** Link the packaged Node. npm 9 and 10 drop this link, and some platforms have no Node package. */
function linkNode() {
  if (existsSync(linkedNode) && isSupportedVersion(versionOf(linkedNode))) return
  const packaged = join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node')
  const candidate = existsSync(packaged) ? packaged : process.execPath
  if (!isSupportedVersion(versionOf(candidate))) {
    exitWithError(
      `Node ${minNodeMajor} or newer is required. No package exists for ${process.platform}-${process.arch}, and this is ${process.version}. Install Node ${minNodeMajor}, then run the same command again.`,
    )
  }
  mkdirSync(dirname(linkedNode), { recursive: true })
  rmSync(linkedNode, { force: true })
  symlinkSync(candidate, linkedNode)
}

const stamp = stampNow()
const isReady = existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp && existsSync(linkedNode)
if (!isReady) {
  if (process.platform === 'win32') exitWithError('Windows is not supported: use WSL 2, Linux or macOS.')
  const unverified = unverifiedOn(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')), thisPlatform())
  if (unverified.length > 0) {
    exitWithError(
      `package-lock.json has no hash of ${unverified.join(', ')}, so npm cannot verify these packages. Run \`node deploy/complete-lock.mjs\`, which requests the hashes from your registry, then run the same command again.`,
    )
  }
  console.error('wattledger: installing packages (once, about half a minute and 1.1 GB)')
  const code = await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-progress'])
  if (code !== 0)
    exitWithError(`npm ci failed with exit code ${code}. Fix the error above, then run the same command again.`)
  linkNode()
  writeFileSync(stampFile, stamp)
  console.error('wattledger: packages installed')
}
