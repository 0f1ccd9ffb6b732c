import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive } from '../../../services/platform/postgres/embedded/postmaster.ts'

const run = promisify(execFile)
const cache = join(homedir(), '.cache', 'wattledger-test')
const fetchMs = 240_000

export type Artefact = { readonly name: string; readonly dependencies: readonly string[] }

/** Artefacts from Maven Central: the broker with its logger, a schema registry in one archive, the commands of Kafka. */
export const artefacts = {
  broker: {
    name: 'kafka-4.3.1',
    dependencies: ['org.apache.kafka:kafka_2.13:4.3.1', 'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4'],
  },
  registry: { name: 'apicurio-2.6.13', dependencies: ['io.apicurio:apicurio-registry-app:2.6.13.Final:tar.gz:all'] },
  tools: {
    name: 'kafka-tools-4.3.1',
    dependencies: ['org.apache.kafka:kafka-tools:4.3.1', 'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4'],
  },
} as const satisfies Record<string, Artefact>

const canRun = (program: string, argument: string): boolean => {
  try {
    execFileSync(program, [argument], { stdio: 'ignore', timeout: 20_000 })
    return true
  } catch {
    return false
  }
}

/** Return the reason why no broker can start on this machine; null if one can. */
export const missingKafkaTool = (): string | null => {
  if (!canRun('java', '-version')) return 'Java is not installed'
  if (existsSync(join(cache, artefacts.broker.name, 'ready'))) return null
  return canRun('mvn', '-v') ? null : 'Maven is not installed and the broker is not downloaded'
}

const pomOf = ({ name, dependencies }: Artefact): string => {
  const entries = dependencies.map(coordinates => {
    const [group, artefact, version, type = 'jar', classifier] = coordinates.split(':')
    // An archive contains its dependencies.
    const exclusions = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
    const kind = `<type>${type}</type>${classifier === undefined ? '' : `<classifier>${classifier}</classifier>${exclusions}`}`
    return `<dependency><groupId>${group}</groupId><artifactId>${artefact}</artifactId><version>${version}</version>${kind}</dependency>`
  })
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>wattledger</groupId>
<artifactId>${name}</artifactId><version>1</version><dependencies>${entries.join('')}</dependencies></project>\n`
}

/** Return the folder of an artefact of Maven Central. Each machine downloads and prepares the artefact once. */
export const ensureArtefact = (artefact: Artefact, prepare: (folder: string) => Promise<void>): Promise<string> =>
  ensureFolder(artefact.name, async folder => {
    writeFileSync(join(folder, 'pom.xml'), pomOf(artefact))
    const goal = [
      '-q',
      '-B',
      'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies',
      '-DoutputDirectory=lib',
    ]
    await run('mvn', goal, { cwd: folder, timeout: fetchMs })
    await prepare(folder)
  })

/**
 * Return a folder with downloaded programs. Each machine fills the folder once. Concurrent callers wait for the first
 * caller. A folder is used only after `fill` has succeeded.
 */
export const ensureFolder = async (name: string, fill: (folder: string) => Promise<void>): Promise<string> => {
  const folder = join(cache, name)
  const ready = join(folder, 'ready')
  const claim = join(cache, `${name}.claim`)
  mkdirSync(cache, { recursive: true })
  while (!existsSync(ready)) {
    if (!claimFile(claim)) {
      await sleep(200)
      continue
    }
    try {
      if (existsSync(ready)) continue
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true })
      await fill(folder)
      writeFileSync(ready, '')
    } finally {
      rmSync(claim, { force: true })
    }
  }
  return folder
}

/**
 * Claim a file for this process. Return false if another process has the claim.
 * The claim of a process that is gone is removed.
 */
export const claimFile = (path: string): boolean => {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    const owner = Number(readText(path))
    if (owner > 0 && !isAlive(owner)) rmSync(path, { force: true })
    return false
  }
}

/** Copy a prepared folder. */
export const copyFolder = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })

/** Write a file in one step, so that waiting processes never read a part of the file. */
export const publishFile = (path: string, text: string): void => {
  writeFileSync(`${path}.part`, text)
  renameSync(`${path}.part`, path)
}

export const readText = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')
