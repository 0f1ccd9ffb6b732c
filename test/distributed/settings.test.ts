import { describe, expect, it } from 'vitest'
import { readConfig, readRoles } from '../../services/platform/config/config.ts'

const outside = {
  WATTLEDGER_KAFKA_BROKERS: 'one:9092,two:9092',
  WATTLEDGER_POSTGRES_URL: 'postgres://somewhere/ledger',
  WATTLEDGER_CLICKHOUSE_URL: 'https://somewhere:8443',
  WATTLEDGER_SECRET: 'a secret of at least thirty-two characters',
}

describe('settings of the distributed profile', () => {
  it('let a process run single roles if all stores are external', () => {
    expect(readRoles(['--roles', 'cost-worker'], readConfig(outside))).toEqual(['cost-worker'])
    expect(readConfig(outside)).toMatchObject({
      kafka: { brokers: ['one:9092', 'two:9092'], sasl: null, tls: false, sessionTimeoutMs: 45_000 },
    })
  })

  it.each(Object.keys(outside))('refuse single roles without %s and name the setting', name => {
    const config = readConfig({ ...outside, [name]: '' })
    expect(() => readRoles(['--roles', 'cost-worker'], config)).toThrow(name)
  })

  it.each([
    ['brokers without ports', { WATTLEDGER_KAFKA_BROKERS: 'one' }, 'WATTLEDGER_KAFKA_BROKERS'],
    [
      'a SASL mechanism without a password',
      { WATTLEDGER_KAFKA_SASL: 'PLAIN', WATTLEDGER_KAFKA_USER: 'a' },
      'WATTLEDGER_KAFKA_PASSWORD',
    ],
    ['an unknown SASL mechanism', { WATTLEDGER_KAFKA_SASL: 'GSSAPI' }, 'WATTLEDGER_KAFKA_SASL'],
    [
      'a session timeout that is too short',
      { WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: '10' },
      'WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS',
    ],
    [
      'a registry without http',
      { WATTLEDGER_SCHEMA_REGISTRY_URL: 'ftp://somewhere' },
      'WATTLEDGER_SCHEMA_REGISTRY_URL',
    ],
  ])('refuse %s', (_, variables, name) => {
    expect(() => readConfig({ ...outside, ...variables })).toThrow(name)
  })
})
