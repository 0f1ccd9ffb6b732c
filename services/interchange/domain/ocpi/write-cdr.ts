import { writeInstant } from '../../../domain/instant.ts'
import { formatDecimal, type Money, percentageScale } from '../../../domain/quantity.ts'
import { roundByLargestRemainder } from '../../../domain/statement/round-lines.ts'
import { type SourceObject, type SourceValue, sourceNumber, writeSource } from '../source-value.ts'
import type { CdrFrame, CdrVersion } from './cdr-frame.ts'
import { type ChargingSession, type CostPart, costParts } from './charging-session.ts'

/** Numbers of OCPI have 4 decimals. A unit is 1e-4 of a currency, kWh or hour. */
const decimals = 4
/** A unit in 1e-9: of money, and of energy in kWh. */
const nanoUnit = 100_000n
/** A unit in ms: 1e-4 hours. */
const hourUnit = 360n

/** Round values so that they add up to their rounded sum. Returns units of 1e-4. */
const unitsOf = (values: readonly bigint[], unit: bigint): readonly bigint[] =>
  roundByLargestRemainder(values, unit).map(value => value / unit)

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)
const numberOf = (units: bigint): SourceValue => sourceNumber(formatDecimal(units, decimals))

type RoundedTax = { readonly name: string; readonly rate: bigint; readonly units: ReadonlyMap<CostPart, bigint> }

const roundParts = (parts: readonly (readonly [CostPart, Money])[]): ReadonlyMap<CostPart, bigint> => {
  const units = unitsOf(
    parts.map(([, amount]) => amount),
    nanoUnit,
  )
  return new Map(parts.map(([part], index) => [part, units[index] as bigint]))
}

/** Return the parts of a cost in order. */
const partsOf = (costs: ChargingSession['costs']): readonly (readonly [CostPart, Money])[] =>
  costParts.flatMap(part => {
    const amount = costs[part]
    return amount === undefined ? [] : [[part, amount] as const]
  })

/** Write a price without tax, and its taxes. */
const priceOf = (
  version: CdrVersion,
  net: bigint,
  taxes: readonly { readonly name: string; readonly rate: bigint; readonly units: bigint }[],
): SourceObject =>
  version === '2.2.1'
    ? { excl_vat: numberOf(net), incl_vat: numberOf(net + sum(taxes.map(({ units }) => units))) }
    : {
        before_taxes: numberOf(net),
        taxes: taxes.map(({ name, rate, units }) => ({
          name,
          percentage: sourceNumber(formatDecimal(rate, percentageScale - 2)),
          amount: numberOf(units),
        })),
      }

const costMembers: Readonly<Record<CostPart, string>> = {
  energy: 'total_energy_cost',
  fixed: 'total_fixed_cost',
  time: 'total_time_cost',
  parking: 'total_parking_cost',
}

const costsOf = (version: CdrVersion, { costs, taxes }: ChargingSession): SourceObject => {
  const net = roundParts(partsOf(costs))
  const rounded = taxes.map(
    ({ name, rate, amounts }): RoundedTax => ({ name, rate, units: roundParts(partsOf(amounts)) }),
  )
  const write = (units: bigint, taxUnits: (tax: RoundedTax) => bigint | undefined): SourceObject =>
    priceOf(
      version,
      units,
      rounded.flatMap(tax => {
        const taxed = taxUnits(tax)
        return taxed === undefined ? [] : [{ name: tax.name, rate: tax.rate, units: taxed }]
      }),
    )
  const parts = [...net].map(([part, units]) => [costMembers[part], write(units, tax => tax.units.get(part))] as const)
  return {
    total_cost: write(sum([...net.values()]), tax => sum([...tax.units.values()])),
    ...Object.fromEntries(parts),
  }
}

/**
 * Write a charging session as charge detail record of OCPI, created at `at` (ms). Each period has the dimensions ENERGY
 * in kWh and TIME in hours.
 * Law: each total is the exact sum, rounded to 4 decimals with halves away from zero. The parts add up to it.
 * Source: docs/formats-out.md #ocpi-cdr; https://github.com/ocpi/ocpi, mod_cdrs.
 */
export const writeCdr = (session: ChargingSession, frame: CdrFrame, version: CdrVersion, at: number): string => {
  const { reference, start, end, periods, currencyCode } = session
  // Energy in 1e-6 Wh is energy in 1e-9 kWh.
  const energies = unitsOf(
    periods.map(({ energy }) => energy),
    nanoUnit,
  )
  const times = unitsOf(
    periods.map(period => BigInt(period.end - period.start)),
    hourUnit,
  )
  return writeSource({
    ...frame.party,
    id: reference,
    start_date_time: writeInstant(start),
    end_date_time: writeInstant(end),
    session_id: reference,
    cdr_token: frame.token,
    auth_method: frame.authMethod,
    cdr_location: frame.location,
    currency: currencyCode,
    charging_periods: periods.map((period, index) => ({
      start_date_time: writeInstant(period.start),
      dimensions: [
        { type: 'ENERGY', volume: numberOf(energies[index] as bigint) },
        { type: 'TIME', volume: numberOf(times[index] as bigint) },
      ],
    })),
    ...costsOf(version, session),
    total_energy: numberOf(sum(energies)),
    total_time: numberOf(sum(times)),
    last_updated: writeInstant(at),
  })
}
