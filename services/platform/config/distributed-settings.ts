import { trimEnd } from '../../domain/trim-end.ts'
import { ConfigError } from '../failure.ts'
import type { RegistryAddress } from '../log/avro/confluent-schema-ids.ts'
import type { KafkaSettings, SaslMechanism } from '../log/kafka/kafka-settings.ts'

/** Settings of a ClickHouse server. `caFile` is a PEM file of certificate authorities. */
export type ClickHouseSettings = {
  readonly url: string
  readonly user: string
  readonly password: string
  readonly database: string
  readonly caFile: string | null
  readonly isReplicated: boolean
}

/** External stores. Null: the embedded store is used. Without a schema registry, schema ids are local. */
export type DistributedSettings = {
  readonly kafka: KafkaSettings | null
  readonly schemaRegistry: RegistryAddress | null
  readonly clickHouse: ClickHouseSettings | null
}

/** Parsed environment variables of these settings. */
export type DistributedVariables = {
  readonly WATTLEDGER_KAFKA_BROKERS?: string | undefined
  readonly WATTLEDGER_KAFKA_PREFIX: string
  readonly WATTLEDGER_KAFKA_TLS: 'on' | 'off'
  readonly WATTLEDGER_KAFKA_CA_FILE?: string | undefined
  readonly WATTLEDGER_KAFKA_SASL?: SaslMechanism | undefined
  readonly WATTLEDGER_KAFKA_USER?: string | undefined
  readonly WATTLEDGER_KAFKA_PASSWORD?: string | undefined
  readonly WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: number
  readonly WATTLEDGER_SCHEMA_REGISTRY_URL?: string | undefined
  readonly WATTLEDGER_SCHEMA_REGISTRY_USER?: string | undefined
  readonly WATTLEDGER_SCHEMA_REGISTRY_PASSWORD?: string | undefined
  readonly WATTLEDGER_CLICKHOUSE_URL?: string | undefined
  readonly WATTLEDGER_CLICKHOUSE_USER: string
  readonly WATTLEDGER_CLICKHOUSE_PASSWORD: string
  readonly WATTLEDGER_CLICKHOUSE_DATABASE: string
  readonly WATTLEDGER_CLICKHOUSE_CA_FILE?: string | undefined
  readonly WATTLEDGER_CLICKHOUSE_REPLICATED: 'on' | 'off'
}

/** Read the settings of external stores. Throws `ConfigError` if SASL lacks user or password. */
export const distributedSettings = (value: DistributedVariables): DistributedSettings => ({
  kafka: kafkaSettings(value),
  schemaRegistry: schemaRegistry(value),
  clickHouse: clickHouseSettings(value),
})

const kafkaSettings = (value: DistributedVariables): KafkaSettings | null => {
  const mechanism = value.WATTLEDGER_KAFKA_SASL
  const { WATTLEDGER_KAFKA_USER: username = '', WATTLEDGER_KAFKA_PASSWORD: password = '' } = value
  if (mechanism !== undefined && (username === '' || password === '')) {
    throw new ConfigError('WATTLEDGER_KAFKA_SASL: Set WATTLEDGER_KAFKA_USER and WATTLEDGER_KAFKA_PASSWORD too.')
  }
  if (value.WATTLEDGER_KAFKA_BROKERS === undefined) return null
  return {
    brokers: value.WATTLEDGER_KAFKA_BROKERS.split(','),
    prefix: value.WATTLEDGER_KAFKA_PREFIX,
    tls: value.WATTLEDGER_KAFKA_TLS === 'on',
    caFile: value.WATTLEDGER_KAFKA_CA_FILE ?? null,
    sasl: mechanism === undefined ? null : { mechanism, username, password },
    sessionTimeoutMs: value.WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS,
  }
}

const schemaRegistry = (value: DistributedVariables): RegistryAddress | null => {
  const registry = value.WATTLEDGER_SCHEMA_REGISTRY_URL
  const { WATTLEDGER_SCHEMA_REGISTRY_USER: user = null, WATTLEDGER_SCHEMA_REGISTRY_PASSWORD: password = null } = value
  return registry === undefined ? null : { url: trimEnd(registry, '/'), user, password }
}

const clickHouseSettings = (value: DistributedVariables): ClickHouseSettings | null =>
  value.WATTLEDGER_CLICKHOUSE_URL === undefined
    ? null
    : {
        url: value.WATTLEDGER_CLICKHOUSE_URL,
        user: value.WATTLEDGER_CLICKHOUSE_USER,
        password: value.WATTLEDGER_CLICKHOUSE_PASSWORD,
        database: value.WATTLEDGER_CLICKHOUSE_DATABASE,
        caFile: value.WATTLEDGER_CLICKHOUSE_CA_FILE ?? null,
        isReplicated: value.WATTLEDGER_CLICKHOUSE_REPLICATED === 'on',
      }

/**
 * Return the variables of the stores that are embedded. Empty if all stores are external and several processes can run.
 */
export const embeddedStores = (
  settings: DistributedSettings & { readonly postgresUrl: string | null },
): readonly string[] => {
  const stores: readonly (readonly [string, unknown])[] = [
    ['WATTLEDGER_KAFKA_BROKERS', settings.kafka],
    ['WATTLEDGER_POSTGRES_URL', settings.postgresUrl],
    ['WATTLEDGER_CLICKHOUSE_URL', settings.clickHouse],
  ]
  return stores.filter(([, store]) => store === null).map(([name]) => name)
}
