import { accepted, type Result, refused } from '../refusal.ts'
import { addBills, type Bill, emptyBill } from './bill.ts'

/** Bills of a location: of the stored costs, then of each candidate. */
export type LocationBills = { readonly locationId: string; readonly bills: readonly Bill[] }

/** Bills of the calculated locations together, and of each of them; `locations` null if they are not requested. */
export type SimulationSums = { readonly bills: readonly Bill[]; readonly locations: readonly LocationBills[] | null }

/** Maximum number of lines of a bill. */
export const maxBillLines = 500

/** Return the sums of no location. */
export const emptySums = (candidates: number, isByLocation: boolean): SimulationSums => ({
  bills: Array.from({ length: candidates + 1 }, () => emptyBill),
  locations: isByLocation ? [] : null,
})

const addAll = (sums: readonly Bill[], bills: readonly Bill[]): readonly Bill[] =>
  sums.map((sum, index) => addBills(sum, bills[index] ?? emptyBill))

/**
 * Add the bills of a location, or of further months of the location that was added last. Refuses more than 500 lines of
 * a bill.
 */
export const addLocationBills = (
  { bills: sums, locations }: SimulationSums,
  { locationId, bills }: LocationBills,
): Result<SimulationSums> => {
  const added = addAll(sums, bills)
  if (added.some(({ lines }) => lines.length > maxBillLines)) {
    const message = `A bill must have at most ${maxBillLines} different lines. Simulate fewer locations, or without lines`
    return refused('too_many_lines', message, 'lines')
  }
  const last = locations?.at(-1)
  if (locations === null || last === undefined || last.locationId !== locationId)
    return accepted({ bills: added, locations: locations === null ? null : [...locations, { locationId, bills }] })
  return accepted({
    bills: added,
    locations: [...locations.slice(0, -1), { locationId, bills: addAll(last.bills, bills) }],
  })
}
