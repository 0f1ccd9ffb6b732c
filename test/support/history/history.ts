import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'
import type { EnergyFlowDirection } from '../../../services/domain/record/record.ts'
import type { Tariff, TariffDirection, TariffVersion } from '../../../services/domain/tariff/tariff.ts'

/** Directions of energy and money that belong together. */
export type Flow = { readonly energyFlowDirection: EnergyFlowDirection; readonly tariffDirection: TariffDirection }

export const flows = {
  bought: { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' },
  sold: { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' },
  own: { energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' },
  supplied: { energyFlowDirection: 'OUTBOUND', tariffDirection: 'IMPORT' },
} as const satisfies Readonly<Record<string, Flow>>

export type FlowName = keyof typeof flows

/** Values of a record in one submission: energy in 1e-6 Wh, confidence in 1e-6. */
export type Form = { readonly energy: bigint; readonly confidence: number }

/**
 * One identity with its values in the order of submission. The last form is valid. `device` null: the location itself.
 */
export type SentRecord = {
  readonly name: string
  readonly device: number | null
  readonly flow: FlowName
  readonly start: number
  readonly end: number
  readonly session: string | null
  readonly forms: readonly Form[]
}

/**
 * A reading of a register, at a whole second, with its values (1e-6 Wh) in the order of submission. The value null
 * withdraws the reading.
 */
export type SentReading = {
  readonly time: number
  readonly isRestart: boolean
  readonly values: readonly (bigint | null)[]
}

export type SentRegister = {
  readonly name: string
  readonly device: number | null
  readonly flow: FlowName
  readonly session: string | null
  readonly readings: readonly SentReading[]
}

/** A change of a tariff. The ids are names within the history. */
export type TariffStep =
  | { readonly kind: 'create'; readonly tariff: Tariff }
  | { readonly kind: 'patch'; readonly id: string; readonly contractEnd: number | null }
  | { readonly kind: 'reprice'; readonly id: string; readonly version: TariffVersion; readonly marketRates: boolean }
  | { readonly kind: 'void'; readonly id: string }

/** Chains of changes that must keep their order, and the tariffs that are valid after all changes. */
export type TariffPlan = { readonly chains: readonly (readonly TariffStep[])[]; readonly final: readonly Tariff[] }

/** Market prices of equal length from `start` on, in the order of publication. The last form is valid. */
export type PriceBlock = {
  readonly start: number
  readonly stepMs: number
  readonly forms: readonly (readonly bigint[])[]
}

/** All data of a location. `locationRule`: register of the location. `seed` decides the order in which the data arrives. */
export type History = {
  readonly zone: string
  readonly monthStart: number
  readonly locationRule: RegisterRule | null
  readonly tariffs: TariffPlan
  readonly prices: readonly PriceBlock[]
  readonly records: readonly SentRecord[]
  readonly registers: readonly SentRegister[]
  readonly seed: number
}

export const certain = 1_000_000

export const instant = (at: number): string => new Date(at).toISOString()

/** Name of a reading: register, time and whether it begins a new meter. */
export const readingName = ({ name }: SentRegister, { time, isRestart }: SentReading): string =>
  `${name}@${instant(time)}${isRestart ? ' restart' : ''}`

/** Return the last form. Throws a RangeError if there is none. */
export const finalOf = <T>(forms: readonly T[]): T => {
  const last = forms.at(-1)
  if (last === undefined) throw new RangeError('The history has no form to send.')
  return last
}
