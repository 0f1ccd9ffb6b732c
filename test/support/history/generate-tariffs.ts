import fc from 'fast-check'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type {
  ScheduleEntry,
  Tariff,
  TariffDirection,
  TariffType,
  TariffVersion,
} from '../../../services/domain/tariff/tariff.ts'
import type { TariffPlan, TariffStep } from './history.ts'

const hour = 3600
const dayMs = 86_400_000

const cents = (min: number, max: number): fc.Arbitrary<bigint> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min, max }).map(value => BigInt(value) * 10_000_000n) },
    { weight: 1, arbitrary: fc.bigInt({ min: BigInt(min) * 10_000_000n, max: BigInt(max) * 10_000_000n }) },
  )

type RateTerms = { readonly market: boolean; readonly tiers: readonly [min: number, max: number] }

const rates = ({ market, tiers: [minLength, maxLength] }: RateTerms): fc.Arbitrary<Rate[]> =>
  fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength, maxLength }).chain(found => {
    const bounds = [...found.sort((a, b) => a - b).map(kwh => BigInt(kwh) * 1_000_000_000n), null]
    const each = bounds.map(to =>
      fc.record({
        fixed: market ? fc.constant(0n) : cents(-5, 60),
        to: fc.constant(to),
        surchargeFixed: cents(0, 10),
        surchargePercentage: fc.constantFrom(0n, 190_000_000_000_000n, -250_000_000_000_000n, 51_126_963_200_001n),
      }),
    )
    return fc.tuple(...each)
  })

const edges = [
  [0],
  [0, 6 * hour, 22 * hour],
  [7 * hour, 19 * hour + 1800],
  [0, 2 * hour + 1800],
  [2 * hour, 3 * hour],
] as const

const schedules = (rateTerms: RateTerms): fc.Arbitrary<ScheduleEntry[]> =>
  fc.constantFrom(...edges).chain(starts => {
    const bands = starts.map((validFrom, index) => {
      const validTo = starts[index + 1] ?? (starts[0] === 0 ? 24 * hour : starts[0])
      return rates(index === 0 ? rateTerms : { ...rateTerms, tiers: [0, rateTerms.tiers[1]] }).map(rate => ({
        validFrom,
        validTo,
        rate,
      }))
    })
    return fc
      .tuple(...bands)
      .map(hours => [{ months: ['All' as const], dates: [], daysAndHours: [{ days: ['All' as const], hours }] }])
  })

type Kind = {
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly tiers: RateTerms['tiers']
  readonly market: boolean
}

const terms = (kind: Kind): fc.Arbitrary<Pick<Tariff, 'marketRates' | 'schedule'>> =>
  (kind.market ? fc.constantFrom(false, false, true) : fc.constant(false)).chain(marketRates =>
    schedules({ market: marketRates, tiers: kind.tiers }).map(schedule => ({ marketRates, schedule })),
  )

type ContractChange = {
  readonly first: Tariff
  readonly second: Tariff
  readonly wrong: Pick<Tariff, 'marketRates' | 'schedule'>
}

const create = (tariff: Tariff): TariffStep => ({ kind: 'create', tariff: { ...tariff, versions: [] } })
const reprice = ({ id, marketRates }: Tariff, version: TariffVersion): TariffStep => ({
  kind: 'reprice',
  id,
  version,
  marketRates,
})
/** Replace the prices of a tariff, one version after the other. */
const reprices = (tariff: Tariff): TariffStep[] => (tariff.versions ?? []).map(version => reprice(tariff, version))
const patch = ({ id, contractEnd }: Tariff): TariffStep => ({ kind: 'patch', id, contractEnd })

/** Ways to change a contract. Each way ends with the first and the second tariff. */
const styles: Readonly<Record<string, (of: ContractChange) => TariffPlan['chains']>> = {
  apart: ({ first, second }) => [[create(first), ...reprices(first)], [create(second)]],
  patched: ({ first, second }) => [
    [create({ ...first, contractEnd: null }), patch(first), ...reprices(first), create(second)],
  ],
  moved: ({ first, second }) => {
    const early = { ...first, contractEnd: (first.contractEnd ?? 0) - dayMs }
    return [[create(early), ...reprices(first), patch(first)], [create(second)]]
  },
  voided: ({ first, second, wrong }) => {
    const other = { ...second, ...wrong, id: `${second.id} wrong` }
    return [
      [create(first), ...reprices(first)],
      [create(other), { kind: 'void', id: other.id }, create(second)],
    ]
  },
  renewed: ({ first, second, wrong }) => {
    const other = { ...first, ...wrong, id: `${first.id} wrong`, contractEnd: null }
    return [[create(other), { kind: 'void', id: other.id }, create(first), ...reprices(first)], [create(second)]]
  },
  repriced: ({ first, second }) => {
    const version = { effectiveFrom: (first.contractEnd ?? 0) - dayMs / 2, schedule: second.schedule }
    const wrong =
      first.marketRates === second.marketRates
        ? [reprice(first, version), reprice(first, { ...version, schedule: first.schedule })]
        : []
    return [[create(first), ...wrong, ...reprices(first)], [create(second)]]
  },
}

/** The wrong tariff has no end. It must be voided before the second tariff is created. */
const inOneChain = (chains: TariffPlan['chains'], style: string): TariffPlan['chains'] =>
  style === 'renewed' ? [chains.flat()] : chains

/** Return the versions of the first contract: one that starts within the contract, or none. */
const versionsOf = ({ contractStart }: Tariff, version: TariffVersion | null): readonly TariffVersion[] =>
  version === null || (contractStart !== null && version.effectiveFrom <= contractStart) ? [] : [version]

/** Two consecutive contracts of a kind. The second contract starts at one of the instants. */
const changes = (kind: Kind, instants: readonly number[]): fc.Arbitrary<TariffPlan> =>
  fc
    .record({
      lead: fc.constantFrom(null, null, 40 * dayMs, 3 * dayMs),
      at: fc.constantFrom(...instants),
      gapMs: fc.constantFrom(0, 0, 0, 7_200_000),
      end: fc.constantFrom(null, null, 3 * dayMs),
      terms: fc.tuple(terms(kind), terms(kind), terms(kind)),
      style: fc.constantFrom(...Object.keys(styles)),
      later: fc.constantFrom(null, null, dayMs, 2 * dayMs + 4_321_000, 20 * dayMs),
    })
    .chain(found =>
      schedules({ market: found.terms[0].marketRates, tiers: kind.tiers }).map(laterSchedule => ({
        ...found,
        laterSchedule,
      })),
    )
    .map(({ lead, at, gapMs, end: last, terms: [one, other, wrong], style, later, laterSchedule }) => {
      const { direction, type } = kind
      const id = `${direction} ${type}`
      const start = lead === null ? null : at - lead
      const end = last === null ? null : at + last
      const first: Tariff = {
        id: `${id} 1`,
        direction,
        type,
        ...one,
        contractStart: start,
        contractEnd: at - gapMs,
        closedAt: null,
      }
      const versions = versionsOf(
        first,
        later === null ? null : { effectiveFrom: at - gapMs - later, schedule: laterSchedule },
      )
      const second: Tariff = {
        id: `${id} 2`,
        direction,
        type,
        ...other,
        contractStart: at,
        contractEnd: end,
        closedAt: null,
      }
      const chains = styles[style]?.({ first: { ...first, versions }, second, wrong }) ?? []
      return { chains: inOneChain(chains, style), final: [{ ...first, versions }, second] }
    })

const single = (kind: Kind): fc.Arbitrary<TariffPlan> =>
  terms(kind).map(found => {
    const { direction, type } = kind
    const tariff: Tariff = {
      id: `${direction} ${type}`,
      direction,
      type,
      ...found,
      contractStart: null,
      contractEnd: null,
      closedAt: null,
    }
    return { chains: [[create(tariff)]], final: [tariff] }
  })

const none: fc.Arbitrary<TariffPlan> = fc.constant({ chains: [], final: [] })

/**
 * Tariffs of a location. Bought energy always has a change of contract and mostly has tiers.
 * The other tariffs may have both.
 */
export const tariffPlans = (instants: readonly number[]): fc.Arbitrary<TariffPlan> => {
  const bought: Kind = { direction: 'IMPORT', type: 'COMMODITY', tiers: [1, 3], market: true }
  const grid: Kind = { direction: 'IMPORT', type: 'NON_COMMODITY', tiers: [0, 2], market: false }
  const sold: Kind = { direction: 'EXPORT', type: 'COMMODITY', tiers: [0, 2], market: true }
  const own: Kind = { direction: 'LOCAL', type: 'COMMODITY', tiers: [0, 2], market: false }
  const flat: Kind = { ...bought, tiers: [0, 0] }
  const withChange = (kind: Kind) => changes(kind, instants)
  const boughtTariffs = fc.oneof(
    { weight: 5, arbitrary: withChange(bought) },
    { weight: 1, arbitrary: withChange(flat) },
  )
  return fc
    .tuple(
      boughtTariffs,
      fc.oneof(none, single(grid), withChange(grid)),
      fc.oneof(none, single(sold), withChange(sold)),
      fc.oneof(none, single(own), withChange(own)),
    )
    .map(plans => ({ chains: plans.flatMap(({ chains }) => chains), final: plans.flatMap(({ final }) => final) }))
}
