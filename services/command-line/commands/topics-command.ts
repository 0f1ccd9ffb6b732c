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
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--${name} must be a whole number from 1.`)
  return Number(text)
}

const readTopicPlan = (input: CommandInput, prefix: string): TopicPlan => {
  const replicas = readWholeNumber(input, 'replicas', 3)
  const minInSync = readWholeNumber(input, 'min-in-sync', Math.max(1, replicas - 1))
  if (minInSync > replicas) throw new UsageError('--min-in-sync must not be greater than --replicas.')
  return {
    prefix,
    partitions: readWholeNumber(input, 'partitions', topics[recordTopic].partitions),
    replicas,
    minInSync,
  }
}

/** Refuse more partitions while messages are unread: keys would move, and later messages would be read first. */
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
            `${group} has ${unread} unread messages of ${topic}. Stop the gateways and wait until all are read.`,
          )
      }
    }
  } finally {
    await log.close()
  }
}

/** Return the generation of the topic. It rises if the topic is new or has another number of partitions. */
const updateGeneration = async (
  { operator }: Database,
  isNew: boolean,
  partitions: number,
  at: number,
): Promise<number> => {
  const known = await readTopicGeneration(operator, recordTopic)
  if (known !== null && !isNew && known.partitions === partitions) return known.generation
  const raised = await raiseTopicGeneration(operator, recordTopic, known?.generation ?? null, partitions, at)
  if (raised === null) throw new CommandError('Another command is changing the topics. Run this command again.')
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
  summary: 'Create the Kafka topics and report differences.',
  details: [
    'Creates missing topics and compares existing topics with the plan: partitions, replicas, retention,',
    'in-sync replicas, append time, maximum message size and compression.',
    'Existing topics are not changed. If they differ, the command prints the differences and the exit code is 1.',
    'More partitions move locations to other partitions. To add partitions, stop the gateways, wait until all messages',
    'are read, run the command with --add-partitions, and restart the service.',
  ],
  options: {
    partitions: { value: 'N', summary: `Partitions of each topic. Default: ${topics[recordTopic].partitions}.` },
    replicas: { value: 'N', summary: 'Replicas of each partition. Default: 3.' },
    'min-in-sync': {
      value: 'N',
      summary: 'Replicas that must store a message before it is acknowledged. Default: replicas − 1.',
    },
    'add-partitions': { summary: 'Add missing partitions after all messages are read.' },
  },
  run: async input => {
    const { kafka } = readConfig(input.variables)
    if (kafka === null) throw new CommandError('There are no Kafka brokers. Set WATTLEDGER_KAFKA_BROKERS.')
    const { addPartitions, ensureTopics, missingTopics } = await import('../../platform/log/kafka/kafka-topics.ts')
    const address = kafkaAddress(kafka)
    const plan = readTopicPlan(input, kafka.prefix)
    return withDatabase(input, { mayCreate: true }, async (database, { at }) => {
      // Raise the generation before the topic exists: under the old generation, stored rows would win over new rows.
      const isNew = (await missingTopics(address, plan)).includes(recordTopic)
      if (isNew) await updateGeneration(database, true, plan.partitions, at)
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
      const generation = isPartitioned ? await updateGeneration(database, false, plan.partitions, at) : null
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
      ? ['The topics differ from the plan. Existing topics were not changed.', driftTable(drift)]
      : ['The topics match the plan.']
  return { text: [...createdLines, ...text].join('\n'), json: { created, drift, generation }, ok: drift.length === 0 }
}
