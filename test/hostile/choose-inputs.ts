import type { Random } from '../support/random.ts'
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

/** Share of the other inputs that a run plays. */
const playedShare = 1 / 3

/**
 * Choose the inputs of a short run: those of each subject whose code or inputs changed, and a third of the others at random. All
 * inputs if the code of all requests or the measurement changed, or if the changes are unknown.
 */
export const chooseInputs = (
  inputs: readonly HostileInput[],
  changed: readonly string[] | null,
  { chance }: Random,
): readonly HostileInput[] => {
  const starts = (path: string, folders: readonly string[]): boolean =>
    folders.some(folder => path.startsWith(`services/${folder}`))
  if (changed === null || changed.some(path => starts(path, wide) || path.startsWith('test/hostile/'))) return inputs
  const isChanged = ({ subject }: HostileInput): boolean => changed.some(path => starts(path, pathsOf[subject] ?? ['']))
  return inputs.filter(input => isChanged(input) || chance(playedShare))
}
