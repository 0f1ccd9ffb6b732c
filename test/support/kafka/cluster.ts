import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { artefacts, copyFolder, ensureArtefact } from './artefacts.ts'
import { brokerSettings, type Settings } from './broker-settings.ts'
import {
  freePorts,
  type JavaProcess,
  javaFlags,
  makeReapedFolder,
  removeReapedFolder,
  startJava,
} from './java-process.ts'

const run = promisify(execFile)
const clusterId = 'd2F0dGxlZGdlcnRlc3RzMA'
const started = 'Kafka Server started'
const maxNodes = 3

/** One broker that is also a controller. `start` restarts a killed broker with its data. */
export type Node = {
  readonly address: string
  readonly kill: (signal: NodeJS.Signals) => void
  readonly exited: () => Promise<void>
  readonly start: () => Promise<void>
}

export type Cluster = AsyncDisposable & {
  readonly brokers: readonly string[]
  readonly nodes: readonly Node[]
}

export type ClusterOptions = {
  readonly nodes: number
  readonly settings?: Settings
  /** The brokers end when this process ends. */
  readonly owner?: number
}

const propertiesOf = (id: number, ports: readonly number[], data: string, settings: Settings): string => {
  const count = ports.length / 2
  const controller = (node: number): string => `127.0.0.1:${ports[count + node - 1]}`
  const address = `127.0.0.1:${ports[id - 1]}`
  const voters = Array.from({ length: count }, (_, index) => `${index + 1}@${controller(index + 1)}`)
  const nodeAddresses = { id, voters, listeners: { broker: address, controller: controller(id) }, advertised: address }
  const all = { ...brokerSettings(nodeAddresses), 'log.dirs': data, ...settings }
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

const logSettings = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
`

const javaArgs = (kafka: string, archive: readonly string[]): readonly string[] => [
  ...[
    '-Xms128m',
    '-Xmx512m',
    ...javaFlags,
    ...archive,
    `-Dlog4j2.configurationFile=${join(kafka, 'log4j2.properties')}`,
  ],
  ...['-cp', join(kafka, 'lib', '*')],
]

/** Format the storage and archive the classes once, because formatting takes longer than a start. */
const prepare = async (kafka: string): Promise<void> => {
  writeFileSync(join(kafka, 'log4j2.properties'), logSettings)
  const ports = [1, 2, 3, 4, 5, 6]
  for (let id = 1; id <= maxNodes; id += 1) {
    const file = join(kafka, `format-${id}.properties`)
    writeFileSync(file, propertiesOf(id, ports, join(kafka, `data-${id}`), {}))
    await run('java', [...javaArgs(kafka, []), 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', file])
  }
  const folder = makeReapedFolder(process.pid)
  const archive = `-XX:ArchiveClassesAtExit=${join(kafka, 'kafka.jsa')}`
  const first = await startNode(kafka, folder, 1, await freePorts(2), {}, [archive])
  first.kill('SIGTERM')
  await first.exited()
  await removeReapedFolder(folder, [])
}

const startNode = (
  kafka: string,
  folder: string,
  id: number,
  ports: readonly number[],
  settings: Settings,
  archive: readonly string[],
): Promise<JavaProcess> => {
  const data = join(folder, `data-${id}`)
  const file = join(folder, `${id}.properties`)
  mkdirSync(folder, { recursive: true })
  copyFolder(join(kafka, `data-${id}`), data)
  writeFileSync(file, propertiesOf(id, ports, data, settings))
  return startJava(folder, `broker-${id}`, [...javaArgs(kafka, archive), 'kafka.Kafka', file], started)
}

/** Start a cluster of one to three brokers on free ports of the loopback interface. Its data folder is temporary. */
export const startCluster = async ({
  nodes: count,
  settings = {},
  owner = process.pid,
}: ClusterOptions): Promise<Cluster> => {
  const kafka = await ensureArtefact(artefacts.broker, prepare)
  const folder = makeReapedFolder(owner)
  const ports = await freePorts(count * 2)
  const archive = [`-XX:SharedArchiveFile=${join(kafka, 'kafka.jsa')}`]
  const ids = Array.from({ length: count }, (_, index) => index + 1)
  const processes = await Promise.all(ids.map(id => startNode(kafka, folder, id, ports, settings, archive)))
  const nodes = ids.map((id, index): Node => {
    const address = `127.0.0.1:${ports[index]}`
    const restartArgs = [...javaArgs(kafka, archive), 'kafka.Kafka', join(folder, `${id}.properties`)]
    return {
      address,
      kill: signal => processes[index]?.kill(signal),
      exited: async () => processes[index]?.exited(),
      start: async () => {
        processes[index] = await startJava(folder, `broker-${id}`, restartArgs, started)
      },
    }
  })
  return {
    brokers: nodes.map(({ address }) => address),
    nodes,
    [Symbol.asyncDispose]: () => removeReapedFolder(folder, processes),
  }
}
