import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { environment, readConfig, readRoles, roles } from '../../../../services/platform/config/config.ts'
import { ConfigError } from '../../../../services/platform/failure.ts'

describe('the configuration', () => {
  it('is listed completely in env.example, with description and default', () => {
    const example = readFileSync('deploy/env.example', 'utf8')
    const listed = [...example.matchAll(/^# (.+)\n#(WATTLEDGER_\w+)=(.*)$/gm)].map(([, meaning, name, value]) => [
      name,
      meaning,
      value,
    ])
    const known = Object.entries(environment.shape).map(([name, shape]) => [
      name,
      shape.description,
      String(shape.safeParse(undefined).data ?? ''),
    ])
    expect(listed).toEqual(known)
  })

  it('has defaults for everything', () => {
    expect(readConfig({})).toMatchObject({ host: '127.0.0.1', port: 8080, postgresUrl: null, logPartitions: 8 })
  })

  it.each([
    ['a word for a port', { WATTLEDGER_PORT: 'http' }, 'WATTLEDGER_PORT'],
    ['a port beyond all ports', { WATTLEDGER_PORT: '65536' }, 'WATTLEDGER_PORT'],
    ['a short secret', { WATTLEDGER_SECRET: 'short' }, 'WATTLEDGER_SECRET'],
    ['a setting that does not exist', { WATTLEDGER_PROT: '1' }, 'WATTLEDGER_PROT'],
  ])('refuses %s and names it', (_, variables, name) => {
    expect(() => readConfig(variables)).toThrow(ConfigError)
    expect(() => readConfig(variables)).toThrow(name)
  })

  it('has a folder of exports for one process, and for several only if it is named', () => {
    const several = {
      WATTLEDGER_KAFKA_BROKERS: 'broker:9092',
      WATTLEDGER_SCHEMA_REGISTRY_URL: 'http://registry:8080',
      WATTLEDGER_CLICKHOUSE_URL: 'http://clickhouse:8123',
      WATTLEDGER_POSTGRES_URL: 'postgres://u:p@postgres/db',
      WATTLEDGER_SECRET: 's'.repeat(64),
      WATTLEDGER_OPERATOR_KEY: 'o'.repeat(64),
      WATTLEDGER_CREDENTIALS_KEY: 'c'.repeat(64),
    }
    expect(readConfig({ WATTLEDGER_DATA_DIR: '/data' }).exportFolder).toBe('/data/exports/files')
    expect(readConfig(several).exportFolder).toBe(null)
    expect(readConfig({ ...several, WATTLEDGER_EXPORT_DIR: '/shared' }).exportFolder).toBe('/shared')
  })

  it('treats an empty setting as unset', () => {
    expect(readConfig({ WATTLEDGER_PORT: '' }).port).toBe(8080)
  })
})

describe('the command line', () => {
  it('runs all roles by default', () => {
    expect(readRoles([])).toEqual(roles)
    expect(readRoles(['--roles', roles.join(',')])).toEqual(roles)
  })

  it.each([
    ['a role that does not exist', ['--roles', 'worker'], 'worker'],
    ['some roles with embedded stores', ['--roles', 'cost-worker'], 'Embedded stores'],
    ['unknown words', ['--role'], '--role'],
  ])('refuses %s', (_, words, reason) => {
    expect(() => readRoles(words)).toThrow(reason)
  })
})
