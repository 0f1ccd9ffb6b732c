import { setTimeout as sleep } from 'node:timers/promises'
import { Admin, ConfigResourceTypes, findErrorBy } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import { type TopicName, type TopicSettings, topicNames, topics } from '../log.ts'
import { clientOptions, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import type { KafkaAddress } from './kafka-settings.ts'

/** Planned topics. `partitions` is the number of each topic. */
export type TopicPlan = {
  readonly prefix: string
  readonly partitions: number
  readonly replicas: number
  readonly minInSync: number
  readonly settings?: Partial<Record<TopicName, Partial<TopicSettings>>>
}

/** A planned or found topic: partitions, replicas and settings by the brokers' names. */
type Topic = {
  readonly partitions: number
  readonly replicas: number
  readonly configs: Readonly<Record<string, string>>
}

/** A setting of a topic that differs from the plan. */
export type TopicDrift = {
  readonly topic: string
  readonly setting: string
  readonly planned: string
  readonly found: string
}

/** Created topics, and differences of the existing topics. */
export type TopicReport = { readonly created: readonly string[]; readonly drift: readonly TopicDrift[] }

/** Bytes for headers and the batch, added to the largest message. */
const overheadBytes = 262_144
const topicExists = 36

const plannedTopic = (topic: TopicName, plan: TopicPlan): Topic => {
  const { cleanup, retentionMs, maxMessageBytes } = { ...topics[topic], ...plan.settings?.[topic] }
  return {
    partitions: plan.partitions,
    replicas: plan.replicas,
    configs: {
      'cleanup.policy': cleanup,
      'retention.ms': String(retentionMs),
      // Retention is by time only: a size limit would remove unread messages.
      'retention.bytes': '-1',
      'min.insync.replicas': String(plan.minInSync),
      // Producers must not set the time: retention would remove late data.
      'message.timestamp.type': 'LogAppendTime',
      'max.message.bytes': String(maxMessageBytes + overheadBytes),
      'compression.type': 'producer',
      'unclean.leader.election.enable': 'false',
    },
  }
}

/**
 * List the missing topics. Throws `too_few_brokers` if one is missing and needs more replicas than there are brokers,
 * and `log_away` as `ensureTopics` does.
 */
export const missingTopics = (
  address: KafkaAddress,
  { prefix, replicas }: Pick<TopicPlan, 'prefix' | 'replicas'>,
): Promise<readonly TopicName[]> =>
  withAdmin(address, async admin => {
    const known = new Set(await admin.listTopics())
    const missing = topicNames.filter(topic => !known.has(prefix + topic))
    if (missing.length > 0) await refuseTooFewBrokers(admin, replicas)
    return missing
  })

const refuseTooFewBrokers = async (admin: Admin, replicas: number): Promise<void> => {
  const count = (await admin.metadata({ topics: [], forceUpdate: true })).brokers.size
  if (replicas <= count) return
  const found = count === 1 ? 'there is 1 broker' : `there are ${count} brokers`
  const advice = `Start more brokers, or run the command with "--replicas ${count}".`
  throw new Failure('too_few_brokers', `Each partition gets ${replicas} replicas, but ${found}. ${advice}`)
}

/**
 * Create missing topics and compare existing topics with the plan. Existing topics are not changed. Throws `log_away`
 * if the brokers do not answer or refuse, for example more replicas than brokers.
 */
export const ensureTopics = (address: KafkaAddress, plan: TopicPlan): Promise<TopicReport> =>
  withAdmin(address, async admin => {
    const known = new Set(await admin.listTopics())
    const missing = topicNames.filter(topic => !known.has(plan.prefix + topic))
    for (const topic of missing) {
      const { partitions, replicas, configs } = plannedTopic(topic, plan)
      const entries = Object.entries(configs).map(([name, value]) => ({ name, value }))
      await admin
        .createTopics({ topics: [plan.prefix + topic], partitions, replicas, configs: entries })
        .catch(ignoreExisting)
    }
    await waitForLeaders(
      admin,
      missing.map(topic => plan.prefix + topic),
    )
    const drift: TopicDrift[] = []
    for (const topic of topicNames.filter(one => !missing.includes(one))) {
      drift.push(
        ...differences(plan.prefix + topic, plannedTopic(topic, plan), await foundTopic(admin, plan.prefix + topic)),
      )
    }
    return { created: missing.map(topic => plan.prefix + topic), drift }
  })

/** Ignore that another process created the topic first. */
const ignoreExisting = (error: Error): void => {
  if (findErrorBy(error, 'apiCode', topicExists) === null) throw error
}

/** Wait until the brokers know the created topics and each partition has a leader. */
const waitForLeaders = async (admin: Admin, names: readonly string[]): Promise<void> => {
  for (let left = names; left.length > 0; ) {
    const known = new Set(await admin.listTopics())
    left = left.filter(name => !known.has(name))
    if (left.length > 0) await sleep(20)
  }
  for (let left = names; left.length > 0; ) {
    const { topics: found } = await admin.metadata({ topics: [...left], forceUpdate: true })
    left = left.filter(name => !found.get(name)?.partitions.every(({ leader }) => leader >= 0))
    if (left.length > 0) await sleep(20)
  }
}

/**
 * Add partitions to topics that have fewer than planned. Keys move to other partitions then, so all messages must be
 * read before.
 */
export const addPartitions = (address: KafkaAddress, plan: TopicPlan): Promise<readonly string[]> =>
  withAdmin(address, async admin => {
    const names = topicNames.map(topic => plan.prefix + topic)
    const { topics: found } = await admin.metadata({ topics: names, forceUpdate: true })
    const fewer = names.filter(name => (found.get(name)?.partitionsCount ?? plan.partitions) < plan.partitions)
    if (fewer.length > 0)
      await admin.createPartitions({ topics: fewer.map(name => ({ name, count: plan.partitions, assignments: null })) })
    return fewer
  })

const foundTopic = async (admin: Admin, name: string): Promise<Topic> => {
  const { topics: found } = await admin.metadata({ topics: [name], forceUpdate: true })
  const partitions = found.get(name)?.partitions ?? []
  const [described] = await admin.describeConfigs({
    resources: [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: name }],
  })
  return {
    partitions: partitions.length,
    replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    configs: Object.fromEntries(described?.configs.map(config => [config.name, config.value ?? '']) ?? []),
  }
}

/** List the differences between a planned and a found topic. */
const differences = (topic: string, planned: Topic, found: Topic): readonly TopicDrift[] => {
  const settingTexts = ({ partitions, replicas, configs }: Topic) => ({
    partitions: String(partitions),
    replicas: String(replicas),
    ...configs,
  })
  const actual: Readonly<Record<string, string>> = settingTexts(found)
  return Object.entries(settingTexts(planned))
    .map(([setting, value]) => ({ topic, setting, planned: value, found: actual[setting] ?? '' }))
    .filter(({ planned: wanted, found: value }) => wanted !== value)
}

const withAdmin = async <T>(address: KafkaAddress, work: (admin: Admin) => Promise<T>): Promise<T> => {
  const admin = new Admin({ ...clientOptions(address, 'topics'), retries: 3, retryDelay: 300 })
  try {
    return await withLogTimeout(6 * requestTimeoutMs, 'reading topics', work(admin))
  } finally {
    await waitUpTo(1_000, admin.close())
  }
}
