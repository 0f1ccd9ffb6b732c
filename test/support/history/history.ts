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

/** What a record said when it was sent: energy in 1e-6 Wh, confidence in 1e-6. */
export type Form = { readonly energy: bigint; readonly confidence: number }

/** One identity, in the forms in which it was sent one after the other: the last one holds. `device` null: the location itself. */
export type SentRecord = {
  readonly name: string
  readonly device: number | null
  readonly flow: FlowName
  readonly start: number
  readonly end: number
  readonly session: string | null
  readonly forms: readonly Form[]
}

/** A reading of a register, on a whole second, with the values (1e-6 Wh) it was sent with one after the other. */
export type SentReading = { readonly time: number; readonly values: readonly bigint[] }

export type SentRegister = {
  readonly name: string
  readonly device: number | null
  readonly flow: FlowName
  readonly session: string | null
  readonly readings: readonly SentReading[]
}

/** A change of a tariff; tariffs are named by their id here. */
export type TariffStep =
  | { readonly kind: 'create'; readonly tariff: Tariff }
  | { readonly kind: 'patch'; readonly id: string; readonly contractEnd: number | null }
  | { readonly kind: 'reprice'; readonly id: string; readonly version: TariffVersion; readonly marketRates: boolean }
  | { readonly kind: 'void'; readonly id: string }

/** Changes that only make sense in this order, and the tariffs that are left of all. */
export type TariffPlan = { readonly chains: readonly (readonly TariffStep[])[]; readonly final: readonly Tariff[] }

/** Market prices of equal length from `start` on, in the forms in which they were published: the last one holds. */
export type PriceBlock = {
  readonly start: number
  readonly stepMs: number
  readonly forms: readonly (readonly bigint[])[]
}

/** All that happens at a location, apart from when it arrives; `seed` decides that. */
export type History = {
  readonly zone: string
  readonly monthStart: number
  readonly tariffs: TariffPlan
  readonly prices: readonly PriceBlock[]
  readonly records: readonly SentRecord[]
  readonly registers: readonly SentRegister[]
  readonly seed: number
}

export const certain = 1_000_000

export const instant = (at: number): string => new Date(at).toISOString()

/** A register's reading by its time. */
export const readingName = ({ name }: SentRegister, { time }: SentReading): string => `${name}@${instant(time)}`

/** The last of the forms in which something was sent. */
export const finalOf = <T>(forms: readonly T[]): T => {
  const last = forms.at(-1)
  if (last === undefined) throw new RangeError('nothing was sent')
  return last
}
