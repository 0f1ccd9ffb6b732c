import type { EnergySelection, Power } from '../charge/charge.ts'
import { hourMs, type Interval } from '../interval.ts'
import { divideHalfEven, type Energy } from '../quantity.ts'
import type { Peak } from './measurement.ts'
import { energyBetween, flowsOf, type MeteredEnergy, recordsWithin } from './metered-energy.ts'

/** Device and session that used energy in a peak. `share` is in 1e-6 of the bought and own energy of the peak. */
export type PeakUser = {
  readonly deviceId: string | null
  readonly sessionReferenceId: string | null
  readonly energy: Energy
  readonly share: number
}

/**
 * Peak of a line. `power` is in 1e-9 kW without the weight, which is in 1e-9. `isCoarse`: a record that is longer than
 * the interval has energy in it. At most 50 users, by falling energy.
 */
export type PeakReason = Interval & {
  readonly power: Power
  readonly weight: number
  readonly isCoarse: boolean
  readonly users: readonly PeakUser[]
}

const maxUsers = 50
const compareTexts = (a: string | null, b: string | null): number => (a === b ? 0 : (a ?? '') < (b ?? '') ? -1 : 1)

const compareUsers = (a: PeakUser, b: PeakUser): number => {
  if (a.energy !== b.energy) return a.energy > b.energy ? -1 : 1
  return compareTexts(a.deviceId, b.deviceId) || compareTexts(a.sessionReferenceId, b.sessionReferenceId)
}

/** Explain a peak: its power, and the devices and sessions that used its energy. */
export const explainPeak = (metered: MeteredEnergy, { counts, deviceIds }: EnergySelection, peak: Peak): PeakReason => {
  const { start, end, energy, weight } = peak
  const usedBy = new Map<string, PeakUser>()
  let [total, isCoarse] = [0n, false]
  for (const flow of flowsOf[counts]) {
    for (const record of recordsWithin(metered, flow, deviceIds, peak)) {
      const used = energyBetween(record, start, end)
      if (used === 0n) continue
      isCoarse ||= record.end - record.start > end - start
      if (counts === 'NET_IMPORT' && flow === 'EXPORT') continue
      total += used
      const { deviceId, sessionReferenceId } = record
      const key = JSON.stringify([deviceId, sessionReferenceId])
      const known = usedBy.get(key)
      usedBy.set(key, { deviceId, sessionReferenceId, energy: used + (known?.energy ?? 0n), share: 0 })
    }
  }
  const users = [...usedBy.values()]
    .sort(compareUsers)
    .slice(0, maxUsers)
    .map(user => ({ ...user, share: Number(divideHalfEven(user.energy * 1_000_000n, total)) }))
  return {
    start,
    end,
    power: divideHalfEven(energy * BigInt(hourMs), BigInt(end - start)),
    weight,
    isCoarse,
    users,
  }
}
