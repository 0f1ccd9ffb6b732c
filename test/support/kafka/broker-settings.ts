export type Settings = Readonly<Record<string, string | number>>

/** Short sessions, so that a test can wait for the end of a session. */
const quickSettings: Settings = {
  'broker.session.timeout.ms': 3_000,
  'broker.heartbeat.interval.ms': 500,
  'group.consumer.min.session.timeout.ms': 1_000,
  'group.consumer.session.timeout.ms': 3_000,
  'group.consumer.min.heartbeat.interval.ms': 200,
  'group.consumer.heartbeat.interval.ms': 300,
}

/** Addresses of a broker that is also a controller. Voters are `id@host:port`; other addresses are `host:port`. */
export type BrokerAddress = {
  readonly id: number
  readonly voters: readonly string[]
  readonly listeners: { readonly broker: string; readonly controller: string }
  readonly advertised: string
}

/** Return the settings of a broker for tests. */
export const brokerSettings = ({ id, voters, listeners, advertised }: BrokerAddress): Settings => ({
  'process.roles': 'broker,controller',
  'node.id': id,
  listeners: `PLAINTEXT://${listeners.broker},CONTROLLER://${listeners.controller}`,
  'advertised.listeners': `PLAINTEXT://${advertised}`,
  'controller.listener.names': 'CONTROLLER',
  'controller.quorum.voters': voters.join(','),
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'offsets.topic.replication.factor': voters.length,
  'offsets.topic.num.partitions': 1,
  'transaction.state.log.replication.factor': voters.length,
  'transaction.state.log.min.isr': 1,
  'share.coordinator.state.topic.replication.factor': voters.length,
  'share.coordinator.state.topic.min.isr': 1,
  'group.initial.rebalance.delay.ms': 0,
  'auto.create.topics.enable': 'false',
  ...quickSettings,
})
