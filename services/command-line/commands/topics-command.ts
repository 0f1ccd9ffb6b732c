import { currentInstant } from '../../platform/clock.ts'
import { readConfig } from '../../platform/config/config.ts'
import { type KafkaSettings, kafkaAddress } from '../../platform/log/kafka/kafka-settings.ts'
import type { TopicDrift, TopicPlan } from '../../platform/log/kafka/kafka-topics.ts'
import { recordTopic, topicNames, topics } from '../../platform/log/log.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { raiseTopicGeneration, readTopicGeneration } from '../../platform/postgres/topic-generation.ts'
import { type Command, CommandError, type CommandInput, type CommandOutcome, UsageError } from '../command.ts'
import { withDatabase } from '../open-database.ts'
import { table } from '../table.ts'

const readWholeNumber = (input: CommandInput, name: string, defaultValue: number): number => {
  const text = input.options[name]
  if (text === undefined) return defaultValue
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--${name} takes a whole number from 1 on`)
  return Number(text)
}

const readTopicPlan = (input: CommandInput, prefix: string): TopicPlan => {
  const replicas = readWholeNumber(input, 'replicas', 3)
  const minInSync = readWholeNumber(input, 'min-in-sync', Math.max(1, replicas - 1))
  if (minInSync > replicas) throw new UsageError('--min-in-sync cannot be more than --replicas')
  return {
    prefix,
    partitions: readWholeNumber(input, 'partitions', topics[recordTopic].partitions),
    replicas,
    minInSync,
  }
}

/** Keys move to other partitions when there are more: what is not read by then would be overtaken. */
const refuseUnread = async (settings: KafkaSettings): Promise<void> => {
  const { openKafkaLog } = await import('../../platform/log/kafka/kafka-log.ts')
  const log = await openKafkaLog({ address: kafkaAddress(settings), prefix: settings.prefix, now: currentInstant })
  try {
    for (const topic of topicNames) {
      for (const group of topics[topic].retainedForGroups) {
        const partitions = Array.from({ length: log.partitions(topic) }, (_, partition) => partition)
        const lags = await Promise.all(partitions.map(partition => log.lag(topic, partition, group)))
        const unread = lags.reduce((sum, { end, committed }) => sum + end - committed, 0)
        if (unread > 0)
          throw new CommandError(
            `${group} has ${unread} messages of ${topic} to read; stop the gateways and let it finish`,
          )
      }
    }
  } finally {
    await log.close()
  }
}

/** A generation belongs to one form of a topic: it rises when the topic was made anew or has another number of partitions. */
const updateGeneration = async (
  { operator }: Database,
  isNew: boolean,
  partitions: number,
  at: number,
): Promise<number> => {
  const known = await readTopicGeneration(operator, recordTopic)
  if (known !== null && !isNew && known.partitions === partitions) return known.generation
  const raised = await raiseTopicGeneration(operator, recordTopic, known?.generation ?? null, partitions, at)
  if (raised === null) throw new CommandError('another command changes the topics at the moment; run this one again')
  return raised.generation
}

const driftTable = (drift: readonly TopicDrift[]): string =>
  table(
    ['topic', 'setting', 'planned', 'found'],
    drift.map(({ topic, setting, planned, found }) => [topic, setting, planned, found]),
    '',
  )

export const topicsCommand: Command = {
  name: 'topics',
  operands: [],
  summary: 'Create the topics at the Kafka brokers, or tell what differs.',
  details:
    'Creates the topics that are missing and compares the others with the plan: partitions, copies, retention, in-sync copies, append time,\nlargest message, compression. What is there is not changed: where it differs the command prints a table and ends with 1, and running it\nagain on equal topics does nothing. More partitions move locations to other lanes: stop the gateways, wait until all is read, and run it\nwith --add-partitions; it raises the lane generation, and the service is started again after it.',
  options: {
    partitions: { value: 'N', summary: `Partitions of each topic; default ${topics[recordTopic].partitions}.` },
    replicas: { value: 'N', summary: 'Copies of each partition; default 3.' },
    'min-in-sync': {
      value: 'N',
      summary: 'Copies that must have a message before it counts as written; default one less than all.',
    },
    'add-partitions': { summary: 'Add the partitions that are missing, once everything is read.' },
  },
  run: async input => {
    const { kafka } = readConfig(input.variables)
    if (kafka === null) throw new CommandError('there are no brokers; set WATTLEDGER_KAFKA_BROKERS')
    const { addPartitions, ensureTopics, missingTopics } = await import('../../platform/log/kafka/kafka-topics.ts')
    const address = kafkaAddress(kafka)
    const plan = readTopicPlan(input, kafka.prefix)
    return withDatabase(input, { mayCreate: true }, async database => {
      // Before the topic is made: a lane that begins anew under the old generation would lose to what is stored.
      const isNew = (await missingTopics(address, plan)).includes(recordTopic)
      if (isNew) await updateGeneration(database, true, plan.partitions, input.at)
      const firstResult = await ensureTopics(address, plan)
      let { drift } = firstResult
      if (input.options['add-partitions'] !== undefined && drift.some(({ setting }) => setting === 'partitions')) {
        await refuseUnread(kafka)
        await addPartitions(address, plan)
        drift = (await ensureTopics(address, plan)).drift
      }
      const { created } = firstResult
      const isPartitioned = !drift.some(
        ({ topic, setting }) => topic === plan.prefix + recordTopic && setting === 'partitions',
      )
      const generation = isPartitioned ? await updateGeneration(database, false, plan.partitions, input.at) : null
      return topicsOutcome(created, drift, generation)
    })
  },
}

const topicsOutcome = (
  created: readonly string[],
  drift: readonly TopicDrift[],
  generation: number | null,
): CommandOutcome => {
  const createdLines = created.map(name => `created ${name}`)
  const text =
    drift.length > 0
      ? ['The topics are not as planned; nothing that differs was changed.', driftTable(drift)]
      : ['The topics are as planned.']
  return { text: [...createdLines, ...text].join('\n'), json: { created, drift, generation }, ok: drift.length === 0 }
}
