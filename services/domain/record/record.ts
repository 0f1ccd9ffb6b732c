import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import type { TariffDirection } from '../tariff/tariff.ts'

export type EnergyFlowDirection = 'INBOUND' | 'OUTBOUND'

/** Optional texts and numbers of a record; null if absent. The texts are references of the caller. */
export type RecordOptions = {
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
}

/** The optional texts and numbers of a record, all absent. */
export const noOptions: RecordOptions = { sessionReferenceId: null, recordReferenceId: null }

/** Accepted meter record with resolved directions and exact energy. If `start === end`, the record is an impulse. */
export type MeterRecord = RecordOptions &
  Interval & {
    readonly locationId: string
    readonly deviceId: string | null
    readonly energyFlowDirection: EnergyFlowDirection
    readonly tariffDirection: TariffDirection
    readonly energy: Energy
    /** In 1e-6, 1 … 1_000_000. Below 1_000_000 the record is an estimate. */
    readonly confidence: number
  }

/** Confidence 1 in 1e-6: the record is an actual. */
export const fullConfidence = 1_000_000

/** Default values of the optional members of a record, apart from its device and its directions. */
export const recordDefaults: Pick<MeterRecord, 'confidence' | keyof RecordOptions> = {
  confidence: fullConfidence,
  ...noOptions,
}
