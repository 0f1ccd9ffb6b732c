import {
  type ChargeKind,
  type ChargeTerms,
  type DemandCharge,
  defaultComponents,
  defaultSequences,
  type OwnTerms,
  type PriceUnit,
} from '../../domain/charge/charge.ts'
import { fullWeight } from '../../domain/charge/charge-window.ts'

type CommonTerms<Kind> = { readonly kind: Kind } & Pick<
  ChargeTerms,
  'name' | 'component' | 'sequence' | 'startDay' | 'endDay'
>

/** Members that all imported charges have. `dateGroups` sets the days. */
export const commonTerms = <Kind extends ChargeKind>(kind: Kind, name: string): CommonTerms<Kind> => ({
  kind,
  name,
  component: defaultComponents[kind],
  sequence: defaultSequences[kind],
  startDay: null,
  endDay: null,
})

/** Terms of a price per unit of time. Parts of a unit are paid by days. */
export const fixedTerms = (name: string, price: bigint, per: PriceUnit): ChargeTerms => ({
  ...commonTerms('FIXED', name),
  price,
  per,
  quantity: BigInt(fullWeight),
  unit: null,
  prorate: 'DAYS',
})

/** Members of a demand charge on the highest power of a month. */
export const demandDefaults: OwnTerms<DemandCharge> = {
  counts: 'IMPORT',
  deviceIds: null,
  intervalMinutes: 60,
  windows: [],
  highest: 1,
  hasDistinctDays: false,
  over: 'PERIOD',
  rollingMonths: 12,
  rolling: 'MEAN',
  monthFloor: 0n,
  ratchet: null,
  floor: 0n,
  above: 0n,
  rounding: null,
  history: [],
  price: null,
  tiers: null,
  steps: null,
  stepEdge: 'LOWER_INCLUSIVE',
  per: 'MONTH',
  yearBasis: 'MONTHS',
  prorate: 'DAYS',
}
