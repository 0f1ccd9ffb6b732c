import type { Energy } from '../quantity.ts'
import type { TariffDirection } from '../tariff/tariff.ts'

export type EnergyFlowDirection = 'INBOUND' | 'OUTBOUND'

/** A metering record as accepted: directions resolved, energy exact. `start === end` is an impulse. */
export type MeterRecord = {
  readonly locationId: string
  readonly deviceId: string | null
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly start: number
  readonly end: number
  readonly energy: Energy
  /** In 1e-6, 1 … 1_000_000; below 1_000_000 the record is an estimate. */
  readonly confidence: number
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
}

/** The optional texts of a record, all absent. */
export const noTexts = { sessionReferenceId: null, recordReferenceId: null } as const
