import { hasNumber, isSourceList, isSourceObject, pointer, type SourceValue, sourceFault } from './source-value.ts'

/** Reasons for which a part of a file is not imported. The list is closed. */
export const notImportedReasons = [
  'no_charges',
  'tier_unit',
  'tier_without_rate',
  'period_missing',
  'public_holidays',
  'net_metering',
  'netting',
  'per_session',
  'step_size',
  'tax',
  'unit',
  'coincident_peak',
  'reactive_power',
  'ratchet',
  'discount_by_attribute',
  'other_commodity',
  'power_reading',
  'formula',
  'currency',
  'reservation',
  'unknown_field',
  'unknown_member',
] as const

export type NotImportedReason = (typeof notImportedReasons)[number]

/**
 * Part of a file that is not imported. `path` is its JSON pointer.
 * `affects` price: the part changes the price of a kWh, so its tariff is not imported. bill: the part adds to the bill.
 */
export type NotImported = {
  readonly path: string
  readonly reason: NotImportedReason
  readonly affects: 'price' | 'bill'
  readonly message: string
}

/** Part of a file without a price, such as a name. `path` is its JSON pointer. */
export type Noted = { readonly path: string; readonly message: string }

/** Collects what happens to each part of a file. */
export type ReportCollector = {
  readonly addNotImported: (entry: NotImported) => void
  readonly addNoted: (path: string, message: string) => void
  /** Cover the parts of an imported object, which names them itself. Only `dateGroups` calls this. */
  readonly addImported: (paths: readonly string[]) => void
  /**
   * Return the report of a file. Parts without an entry are noted if they have no number; otherwise they are not
   * imported as `unknown_field`.
   * Law: each member of the file is, or is in, an imported, not imported or noted part.
   */
  readonly finish: (source: SourceValue) => {
    readonly notImported: readonly NotImported[]
    readonly noted: readonly Noted[]
  }
}

/** Maximum number of entries, so that the report of a wrong file stays small. */
const maxEntries = 2_000

/** Create a collector of a report. */
export const collectReport = (): ReportCollector => {
  const notImported: NotImported[] = []
  const noted: Noted[] = []
  const covered = new Set<string>()
  const open = new Set<string>()
  const cover = (path: string): void => {
    covered.add(path)
    if (covered.size > maxEntries)
      throw sourceFault('', `has more than ${maxEntries} parts to report. Check its format`, 'too_many_elements')
    for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
      open.add(path.slice(0, end))
      if (end === 0) break
    }
  }
  const addNoted: ReportCollector['addNoted'] = (path, message) => {
    if (covered.has(path)) return
    noted.push({ path, message })
    cover(path)
  }
  const addNotImported: ReportCollector['addNotImported'] = entry => {
    if (notImported.some(({ path, reason }) => path === entry.path && reason === entry.reason)) return
    notImported.push(entry)
    cover(entry.path)
  }
  const coverRest = (value: SourceValue, path: string): void => {
    if (covered.has(path)) return
    if (open.has(path) && (isSourceObject(value) || isSourceList(value))) {
      for (const [name, member] of Object.entries(value)) coverRest(member, pointer(path, name))
      return
    }
    if (!hasNumber(value)) addNoted(path, 'has no price')
    else
      addNotImported({
        path,
        reason: 'unknown_field',
        affects: 'bill',
        message: 'The format has no such price. Check whether it adds to the bill.',
      })
  }
  return {
    addNotImported,
    addNoted,
    addImported: paths => {
      for (const path of paths) cover(path)
    },
    finish: source => {
      coverRest(source, '')
      return { notImported, noted }
    },
  }
}
