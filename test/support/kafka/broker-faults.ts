import { beginsWithOneOf, type NamedShortForm } from '../test-run/short-form.ts'

/** Code that the faults of brokers test: the log, its writers and readers, the orderly stop, and the test itself. */
export const codeOfBrokerFaults = [
  'services/platform/log/',
  'services/record-bytes/',
  'services/cost-worker/',
  'services/ingest-gateway/',
  'services/service.ts',
  'services/stores.ts',
  'services/system.ts',
  'test/distributed/three-brokers.test.ts',
  'test/support/kafka/',
  'test/support/ledger/',
] as const

const faults = ['a failing record', 'a killed broker', 'a rolling stop', 'brokers that hang'] as const

/** Faults of `three-brokers.test.ts`: all after a change of their code, otherwise one at random. */
export const brokerFaults: NamedShortForm<(typeof faults)[number]> = {
  file: 'test/distributed/three-brokers.test.ts',
  variable: 'BROKER_FAULTS',
  cases: faults,
  nameOf: fault => fault,
  isWide: beginsWithOneOf(codeOfBrokerFaults),
  added: () => 1,
}
