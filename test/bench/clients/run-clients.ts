import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, startCluster } from '../../support/kafka/cluster.ts'
import { makeTopics } from '../../support/kafka/test-log.ts'
import { released } from '../distributed/shared-stores.ts'
import { answerOf } from '../fork-load.ts'
import { type ClientName, clientNames } from './clients.ts'
import { type SenderReport, type Verdict, verifyLog } from './verify-log.ts'

const warmMs = 2_000
const outageMs = 300
const betweenMs = 4_000
const partitions = 8

const treatments = {
  'one broker, killed and started again': 1,
  'three brokers, one after the other killed and started again': 3,
} as const

/** Kill each broker in turn and bring it back, so many times in all. */
const killInTurn = async ({ nodes }: Cluster, rounds: number): Promise<void> => {
  for (let round = 0; round < rounds; round += 1) {
    const node = nodes[round % nodes.length]
    node?.kill('SIGKILL')
    await node?.exited()
    await sleep(outageMs)
    await node?.start()
    await sleep(betweenMs)
  }
}

const treat = async (
  cluster: Cluster,
  client: ClientName,
  rounds: number,
): Promise<Omit<SenderReport, 'acknowledged'> & Verdict> => {
  const count = cluster.nodes.length
  const { prefix, open } = await makeTopics(cluster.brokers, { replicas: count, minInSync: count === 1 ? 1 : 2 })
  const args = [client, cluster.brokers.join(','), prefix, String(partitions)]
  const env = { ...process.env, KAFKAJS_NO_PARTITIONER_WARNING: '1' }
  const child = fork(new URL('./sender-process.ts', import.meta.url), args, { execArgv: ['--no-warnings'], env })
  try {
    await answerOf(child)
    await sleep(warmMs)
    await killInTurn(cluster, rounds)
    child.send('stop')
    const report = await answerOf<SenderReport>(child)
    const log = await open()
    const verdict = await verifyLog(log, report)
    await log.close()
    return { ...report, ...verdict }
  } finally {
    await released(child)
  }
}

const wholeNumber = (value: number): string => Math.round(value).toLocaleString('en')

/** Let each client write while brokers are killed, and compare what it was told with what is there; gives Markdown. */
export const clientsTable = async (rounds: number): Promise<string> => {
  const rows: string[] = []
  for (const [treatment, nodes] of Object.entries(treatments)) {
    for (const client of clientNames) {
      // A cluster of its own each: brokers that come back late would be another's treatment.
      await using cluster = await startCluster({ nodes })
      const seen = await treat(cluster, client, rounds)
      const pause =
        seen.stuck > 0 ? `for ever, ${seen.stuck} of 4 senders` : `${(seen.longestPauseMs / 1000).toFixed(1)} s`
      const counted = [seen.acknowledged, seen.lost, seen.repeated, seen.disordered, seen.rejected].map(wholeNumber)
      rows.push(`| ${[treatment, client, ...counted, pause].join(' | ')} |\n`)
      process.stderr.write(rows.at(-1) ?? '')
    }
  }
  return `| treatment, ${rounds} kills | client | acknowledged | of them lost | repeated | out of order | sends rejected | longest pause |
| --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join('')}`
}
