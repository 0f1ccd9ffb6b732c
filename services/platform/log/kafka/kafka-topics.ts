import { setTimeout as sleep } from 'node:timers/promises'
import { Admin, ConfigResourceTypes, findErrorBy } from '@platformatic/kafka'
import { type TopicName, type TopicSettings, topicNames, topics } from '../log.ts'
import { clientOptions, type KafkaAddress, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'

/** How the topics are to be at the brokers. `partitions` is that of each topic. */
export type TopicPlan = {
  readonly prefix: string
  readonly partitions: number
  readonly replicas: number
  readonly minInSync: number
  readonly settings?: Partial<Record<TopicName, Partial<TopicSettings>>>
}

/** A topic as it is or is to be: partitions, copies and its settings in the brokers' own words. */
type Topic = {
  readonly partitions: number
  readonly replicas: number
  readonly configs: Readonly<Record<string, string>>
}

/** One setting of a topic that is not as planned. */
export type TopicDrift = {
  readonly topic: string
  readonly setting: string
  readonly planned: string
  readonly found: string
}

/** What was made, and what differs of that which was there. */
export type TopicReport = { readonly created: readonly string[]; readonly drift: readonly TopicDrift[] }

/** Headers and the batch around the values come on top of the largest message. */
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
      // Room is bounded by time alone: bytes would take away what nobody has read.
      'retention.bytes': '-1',
      'min.insync.replicas': String(plan.minInSync),
      // The time of the append and no other, or retention would take late data away.
      'message.timestamp.type': 'LogAppendTime',
      'max.message.bytes': String(maxMessageBytes + overheadBytes),
      'compression.type': 'producer',
      'unclean.leader.election.enable': 'false',
    },
  }
}

/** List the topics that are not there yet. Throws `log_away` as `ensureTopics` does. */
export const missingTopics = (
  address: KafkaAddress,
  { prefix }: Pick<TopicPlan, 'prefix'>,
): Promise<readonly TopicName[]> =>
  withAdmin(address, async admin => {
    const known = new Set(await admin.listTopics())
    return topicNames.filter(topic => !known.has(prefix + topic))
  })

/**
 * Create the topics that are missing and compare the others with the plan; nothing that is there is changed.
 * Throws `log_away` where the brokers do not answer or refuse, for instance more copies than there are brokers.
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

/** Another one was faster. */
const ignoreExisting = (error: Error): void => {
  if (findErrorBy(error, 'apiCode', topicExists) === null) throw error
}

/** A topic that was made is known to a broker, and has leaders, a moment later. */
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

/** Add partitions to the topics that have fewer than planned; keys move then, so the lanes must be empty. */
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

/** List what differs between a topic as planned and as found. */
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
    return await withLogTimeout(6 * requestTimeoutMs, 'asking for topics', work(admin))
  } finally {
    await waitUpTo(1_000, admin.close())
  }
}
