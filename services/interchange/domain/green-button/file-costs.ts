import type { Interval } from '../../../domain/interval.ts'
import type { Money } from '../../../domain/quantity.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import { isRefusedRow, type ObjectName, type ReadRow } from '../reading.ts'
import { type EspiValue, textMember } from './espi.ts'

/** Costs that a file gives for the readings of a meter in one direction, from the first start to the last end. */
export type FileCosts = Interval & {
  readonly self: string
  readonly device: ObjectName | null
  readonly direction: TariffDirection
  readonly currencyCode: string | null
  readonly cost: Money
  /** Readings with and without a cost. */
  readonly readings: number
  readonly withoutCost: number
}

/** Meter of the readings of a block. */
type CostedMeter = Pick<FileCosts, 'self' | 'currencyCode'>

/** Adds up the costs of a file. */
export type FileCostCollector = {
  readonly add: (meter: CostedMeter, readings: readonly EspiValue[], rows: readonly ReadRow[]) => void
  /** Return the sums that have a cost. */
  readonly sums: () => readonly FileCosts[]
}

/** Maximum number of meters and directions with costs. */
const maxSums = 1_000
const costText = /^-?\d{1,15}$/

/** Read a cost in 1e-5 of the currency; null if the reading has none. */
const costOf = (reading: EspiValue | undefined): Money | null => {
  const text = textMember(reading, 'cost')
  return text === null || !costText.test(text) ? null : BigInt(text) * 10_000n
}

/** Create a collector of the costs of a file. Register readings have no costs. Refused readings do not count. */
export const collectFileCosts = (): FileCostCollector => {
  const sums = new Map<string, FileCosts>()
  return {
    add: ({ self, currencyCode }, readings, rows) => {
      for (const [index, row] of rows.entries()) {
        if (isRefusedRow(row) || row.isRegister) continue
        const { device, start, end } = row
        const direction = row.directions?.tariffDirection ?? 'IMPORT'
        const key = `${self} ${direction}`
        const known = sums.get(key)
        if (known === undefined && sums.size >= maxSums) continue
        const cost = costOf(readings[index])
        sums.set(key, {
          self,
          device,
          direction,
          currencyCode,
          cost: (known?.cost ?? 0n) + (cost ?? 0n),
          start: Math.min(known?.start ?? start, start),
          end: Math.max(known?.end ?? end, end),
          readings: (known?.readings ?? 0) + 1,
          withoutCost: (known?.withoutCost ?? 0) + (cost === null ? 1 : 0),
        })
      }
    },
    sums: () => [...sums.values()].filter(({ readings, withoutCost }) => readings > withoutCost),
  }
}
