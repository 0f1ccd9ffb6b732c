// Installs the packages of package-lock.json. Plain JavaScript for Node 20 or newer, because it runs before the installation.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lockUntilExit } from './install-lock.mjs'
import { installedEntries, thisPlatform, unverifiedOn } from './lock-entries.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.wattledger-setup')
const lockFile = join(root, '.installing')
const linkedNode = join(modules, '.bin', 'node')
const packagedNode = join(modules, `node-${process.platform}-${process.arch}`)
const minNodeMajor = 24
const npmOptions = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-progress']

function exitWithError(message) {
  console.error(`\nwattledger: ${message}`)
  process.exit(1)
}

const read = name => readFileSync(join(root, name), 'utf8')

/** Return the text that identifies the packages of this project on this platform. */
function packagesHash() {
  const hash = createHash('sha256')
  for (const name of ['package.json', 'package-lock.json']) hash.update(read(name))
  return `${hash.digest('hex')} ${process.platform} ${process.arch}`
}

/** Return what is installed of the packages with a hash: `all`, `production` or `nothing`. */
function installedPackages(hash) {
  if (!existsSync(stampFile) || !existsSync(linkedNode)) return 'nothing'
  const stamp = readFileSync(stampFile, 'utf8')
  return ['all', 'production'].find(packages => stamp === `${hash} ${packages}`) ?? 'nothing'
}

/** Run npm in the project and print a progress line every 5 s. `paths` are the folders of the packages to install. */
function npm(args, paths) {
  const script = process.env.npm_execpath
  const [command, prefix] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []]
  const startedAt = Date.now()
  const progressTimer = setInterval(() => {
    const unpacked = paths.filter(path => existsSync(join(root, path, 'package.json'))).length
    const seconds = Math.round((Date.now() - startedAt) / 1000)
    console.error(`  … ${seconds} s, ${unpacked} of ${paths.length} packages unpacked`)
  }, 5000)
  return new Promise(resolve => {
    const child = spawn(command, [...prefix, ...args, ...npmOptions], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
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
  const packaged = join(packagedNode, 'bin', 'node')
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

/** Return what must be installed: `everything`, `additions` to the packages of the service, or `nothing`. */
function missingPackages(hash, omitDev) {
  const installed = installedPackages(hash)
  if (installed === 'nothing') return 'everything'
  return installed === 'production' && !omitDev ? 'additions' : 'nothing'
}

/**
 * Install the locked packages, or only those that the service needs. Does nothing if they are installed.
 * Development packages are added to the installed ones, because a service may use those at the same time.
 * A second command waits for the first one: two installations would remove each other's files.
 */
export async function install({ omitDev }) {
  const hash = packagesHash()
  if (missingPackages(hash, omitDev) === 'nothing') return
  if (process.platform === 'win32') exitWithError('Windows is not supported: use WSL 2, Linux or macOS.')
  await lockUntilExit(lockFile, pid =>
    console.error(`wattledger: waiting for process ${pid}, which installs packages (its lock: ${lockFile})`),
  )
  const missing = missingPackages(hash, omitDev)
  if (missing !== 'nothing') await installPackages(hash, { omitDev, isAddition: missing === 'additions' })
}

async function installPackages(hash, { omitDev, isAddition }) {
  const lock = JSON.parse(read('package-lock.json'))
  const unverified = unverifiedOn(lock, thisPlatform())
  if (unverified.length > 0) {
    exitWithError(
      `package-lock.json has no hash of ${unverified.join(', ')}, so npm cannot verify these packages. Run \`node deploy/complete-lock.mjs\`, which requests the hashes from your registry, then run the same command again.`,
    )
  }
  const entries = installedEntries(lock, thisPlatform())
  const pathsOf = isWanted => entries.filter(([, { dev = false }]) => isWanted(dev)).map(([path]) => path)
  if (isAddition) {
    console.error('wattledger: adding the packages of the tests and checks (once, 0.2 GB)')
    // An interrupted addition can leave incomplete folders, which npm would not repair.
    for (const path of pathsOf(dev => dev)) rmSync(join(root, path), { recursive: true, force: true })
  } else console.error(`wattledger: installing packages (once, about a minute and ${omitDev ? '0.9' : '1.1'} GB)`)
  const code = await npm(
    isAddition ? ['install', '--no-save', '--include=dev'] : ['ci', omitDev ? '--omit=dev' : '--include=dev'],
    pathsOf(dev => (isAddition ? dev : !(dev && omitDev))),
  )
  if (code !== 0)
    exitWithError(`npm failed with exit code ${code}. Fix the error above, then run the same command again.`)
  // Headers for C++ addons, 67 MB. No package of the lock is compiled here.
  rmSync(join(packagedNode, 'include'), { recursive: true, force: true })
  linkNode()
  writeFileSync(stampFile, `${hash} ${omitDev ? 'production' : 'all'}`)
  console.error('wattledger: packages installed')
}
