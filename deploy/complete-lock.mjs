// Completes package-lock.json: npm omits optional packages of other platforms that the registry does not offer, and `npm ci` then fails
// with EUSAGE. Then requests missing hashes from the registry. Packages that the registry does not offer stay without a hash, and install.mjs
// installs nothing on their platforms. Run after each change of dependencies: node deploy/complete-lock.mjs
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { nameOf, registryEntries } from './lock-entries.mjs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const systems = ['android', 'darwin', 'linux', 'win32', 'freebsd', 'openharmony', 'aix', 'sunos', 'netbsd', 'openbsd']
const architectures = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el']

function isLocked(from, name) {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('node_modules/') - 1))) {
    if (`${base === '' ? '' : `${base}/`}node_modules/${name}` in lock.packages) return true
    if (base === '') return false
  }
}

function entryOf(name, version) {
  const words = name.split('/').at(-1).split('-')
  const system = systems.find(word => words.includes(word))
  const architecture = architectures.find(word => words.includes(word))
  if (system === undefined || architecture === undefined) throw new Error(`Unknown platform of ${name}`)
  const libc = words.some(word => word.startsWith('musl'))
    ? ['musl']
    : words.some(word => word.startsWith('gnu'))
      ? ['glibc']
      : undefined
  return { version, cpu: [architecture], ...(libc && { libc }), optional: true, os: [system] }
}

let added = 0
for (const [from, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(from, name)) continue
    lock.packages[`node_modules/${name}`] = { ...entryOf(name, version), ...(entry.dev && { dev: true }) }
    added += 1
  }
}
/** Return the hash of a package from the registry. Null if the registry does not offer the package. */
function integrityOf(name, version) {
  const run = spawnSync('npm', ['view', `${name}@${version}`, 'dist.integrity', '--json'], { encoding: 'utf8' })
  const answer = run.status === 0 && run.stdout.trim() !== '' ? JSON.parse(run.stdout) : null
  return typeof answer === 'string' && answer.startsWith('sha512-') ? answer : null
}

const missing = []
for (const [path, entry] of registryEntries(lock)) {
  delete entry.resolved
  if (entry.integrity !== undefined) continue
  const integrity = integrityOf(nameOf(path), entry.version)
  if (integrity === null) missing.push(`${nameOf(path)}@${entry.version}`)
  else entry.integrity = integrity
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} entries added`)
if (missing.length > 0)
  console.log(`The registry has no hash of ${missing.length} packages:\n  ${missing.join('\n  ')}`)
