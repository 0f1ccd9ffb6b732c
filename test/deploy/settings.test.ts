import { describe, expect, it } from 'vitest'
import { environment, readConfig, readRoles } from '../../services/platform/config/config.ts'
import {
  composeText,
  givenSecrets,
  interpolate,
  type Labels,
  read,
  readCompose,
  readManifests,
} from './deploy-files.ts'

const settings = Object.keys(environment.shape)
const isSetting = (name: string): boolean => name.startsWith('WATTLEDGER_')

const dockerfile = read('deploy/Dockerfile')
const readme = read('deploy/README.md')
const inImage = Object.fromEntries(
  [...dockerfile.matchAll(/(WATTLEDGER_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
)
const own = (values: Labels = {}): Labels =>
  Object.fromEntries(Object.entries(values).filter(([name]) => isSetting(name)))

const objectOf = (kind: string) => readManifests().find(one => one.kind === kind && one.metadata.name === 'wattledger')

/** Environment of a pod: the config map, and the secret with filled-in values. */
const inCluster = (filled: Labels): Labels => ({
  ...inImage,
  ...objectOf('ConfigMap')?.data,
  ...objectOf('Secret')?.stringData,
  ...filled,
})

const clusterSecrets = {
  WATTLEDGER_SECRET: 'a'.repeat(64),
  WATTLEDGER_OPERATOR_KEY: 'b'.repeat(64),
  WATTLEDGER_CREDENTIALS_KEY: 'c'.repeat(64),
  WATTLEDGER_POSTGRES_URL: 'postgres://ledger:word@somewhere/ledger',
}

describe('the settings of the deployment', () => {
  const files: readonly (readonly [string, readonly string[]])[] = [
    ['the image', Object.keys(inImage)],
    ['the compose file', [...composeText.matchAll(/\bWATTLEDGER_\w+/g)].map(([name]) => name)],
    ['the config map', Object.keys(objectOf('ConfigMap')?.data ?? {})],
    ['the secret', Object.keys(objectOf('Secret')?.stringData ?? {})],
    ['the README', [...readme.matchAll(/\bWATTLEDGER_\w+/g)].map(([name]) => name)],
  ]

  it.each(files)('are all known, in %s', (_, names) => {
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter(name => !settings.includes(name))).toEqual([])
  })

  it('are each set in the cluster too, if the compose file sets them', () => {
    const { environment: given } = readCompose(interpolate(composeText, givenSecrets)).services['query-service'] ?? {}
    const inCluster = ['ConfigMap', 'Secret'].flatMap(kind =>
      Object.keys(objectOf(kind)?.data ?? objectOf(kind)?.stringData ?? {}),
    )
    expect(Object.keys(own(given))).toContain('WATTLEDGER_TRUSTED_PROXIES')
    expect(Object.keys(own(given)).filter(name => !inCluster.includes(name))).toEqual([])
  })

  it('are each documented in env.example', () => {
    const documented = [...read('deploy/env.example').matchAll(/^# .+\n#(WATTLEDGER_\w+)=/gm)].map(([, name]) => name)
    expect(documented).toEqual(settings)
  })

  it('let every role of the compose file start', () => {
    const { services } = readCompose(interpolate(composeText, givenSecrets))
    const roles = Object.values(services).filter(({ command }) => Array.isArray(command) && command[0] === '--roles')
    expect(roles.length).toBeGreaterThan(0)
    for (const { command, environment: given } of roles) {
      const config = readConfig({ ...inImage, ...own(given) })
      expect(readRoles(command as readonly string[], config)).toHaveLength(1)
      expect([config.operatorKey, config.credentialsKey]).not.toContain(null)
    }
  })

  it.each(Object.keys(givenSecrets))('are refused without %s, which the compose file names', name => {
    expect(() => interpolate(composeText, { ...givenSecrets, [name]: '' })).toThrow(name)
  })

  it('of the cluster let a role start once the secret is filled in, and not as the template has it', () => {
    expect(readRoles(['--roles', 'cost-worker'], readConfig(inCluster(clusterSecrets)))).toEqual(['cost-worker'])
    expect(() => readRoles(['--roles', 'cost-worker'], readConfig(inCluster({})))).toThrow('WATTLEDGER_SECRET')
  })

  it('hold no secret of their own', () => {
    expect(Object.values(objectOf('Secret')?.stringData ?? {}).filter(value => value !== '')).toEqual([])
    const ready = [...composeText.matchAll(/(?<!\w)(\w+): (.*)/g)].filter(
      ([, name = '', value = '']) => /SECRET|PASSWORD|_KEY/.test(name) && !value.includes(':?'),
    )
    expect(ready).toEqual([])
    expect(
      [...composeText.matchAll(/\$\{(\w+):-/g)].map(([, name]) => name).filter(name => !name?.endsWith('_PORT')),
    ).toEqual([])
  })

  it('of the brokers are those that the workers expect', () => {
    const { WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: expected } = environment.parse({})
    expect(readCompose().services['kafka']?.environment?.['KAFKA_GROUP_CONSUMER_SESSION_TIMEOUT_MS']).toBe(
      String(expected),
    )
  })
})
