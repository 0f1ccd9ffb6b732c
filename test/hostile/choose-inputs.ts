import { beginsWithOneOf, type NamedShortForm } from '../support/test-run/short-form.ts'
import type { HostileInput } from './input.ts'

/** Paths whose change plays all inputs: every request runs this code, or the measurement itself changed. */
const wide = ['platform/http/', 'platform/concurrency/', 'platform/work-thread/', 'query-service/work-thread/']

/** Paths of `services/` whose change plays all inputs of a subject. */
export const pathsOf: Readonly<Record<string, readonly string[]>> = {
  numbers: ['contract/json/', 'domain/quantity.ts'],
  'paths and headers': ['contract/openapi/', 'contract/parameter.ts'],
  bodies: ['contract/json/', 'contract/metering/', 'contract/field.ts', 'contract/read-shape.ts'],
  tariffs: ['contract/tariffs/', 'domain/tariff/', 'query-service/registry/'],
  imports: ['interchange/'],
  records: ['contract/metering/', 'ingest-gateway/', 'cost-worker/', 'domain/cost/', 'domain/recost/'],
  registers: ['contract/metering/', 'ingest-gateway/', 'cost-worker/', 'domain/record/'],
  reads: ['domain/price/', 'query-service/costs/', 'query-service/prices/', 'platform/clickhouse/'],
  plans: ['contract/schedules/', 'domain/schedule/'],
  bills: ['domain/statement/', 'domain/simulation/', 'query-service/statements/', 'query-service/simulations/'],
  'charges, calendars and plans': ['domain/charge/', 'domain/calendar/', 'domain/plan/', 'query-service/plans/'],
  Connect: ['connect/'],
  console: ['console/', 'web/ui-kit/'],
  webhooks: ['webhook-worker/', 'platform/webhook-client/'],
  connections: ['platform/access/'],
}

/** The other inputs of a short run are a third. */
const othersPerPlayed = 3

const isIn = (folders: readonly string[]): ((path: string) => boolean) =>
  beginsWithOneOf(folders.map(folder => `services/${folder}`))

/**
 * Return the short form of inputs: those of each subject whose code changed, and a third of the others at random. It has all
 * inputs if the code of all requests or the measurement changed.
 */
export const inputsInShort = (inputs: readonly HostileInput[]): NamedShortForm<HostileInput> => ({
  file: 'test/hostile/hostile.test.ts',
  variable: 'HOSTILE_INPUTS',
  cases: inputs,
  nameOf: ({ subject, name }) => `${subject}: ${name}`,
  isWide: path => isIn(wide)(path) || path.startsWith('test/hostile/'),
  isNeeded: ({ subject }, changed) => changed.some(isIn(pathsOf[subject] ?? [''])),
  added: others => Math.ceil(others / othersPerPlayed),
})
