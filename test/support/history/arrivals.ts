import { seededRandom } from '../random.ts'
import type { Form, History, PriceBlock, SentReading, SentRecord, SentRegister, TariffStep } from './history.ts'
import { finalOf, readingName } from './history.ts'

export type RecordForm = { readonly record: SentRecord; readonly form: Form }
export type ReadingForm = { readonly reading: SentReading; readonly value: bigint | null }

/** One request. `isAlone`: a record that is sent for its instant cost. */
export type Request =
  | { readonly kind: 'records'; readonly records: readonly RecordForm[]; readonly isInstantCost: boolean }
  | { readonly kind: 'readings'; readonly register: SentRegister; readonly readings: readonly ReadingForm[] }
  | { readonly kind: 'tariff'; readonly step: TariffStep }
  | { readonly kind: 'prices'; readonly block: PriceBlock; readonly prices: readonly bigint[] }

/** Requests that are sent in parallel, and the pause after them in ms. A null pause lasts until they are processed. */
export type Wave = { readonly requests: readonly Request[]; readonly pauseMs: number | null }

/** The smallest part of an arrival. Parts of one `key` keep their order. Parts of one `group` may share a request. */
type ArrivalPart = { readonly key: string; readonly group: string; readonly request: Request }

const partsOf = (history: History): readonly (readonly ArrivalPart[])[] => [
  ...history.records.map(record =>
    record.forms.map((form): ArrivalPart => {
      const request = { kind: 'records' as const, records: [{ record, form }], isInstantCost: false }
      return { key: record.name, group: 'records', request }
    }),
  ),
  ...history.registers.flatMap(register =>
    register.readings.map(reading =>
      reading.values.map((value): ArrivalPart => {
        const request = { kind: 'readings' as const, register, readings: [{ reading, value }] }
        return { key: readingName(register, reading), group: register.name, request }
      }),
    ),
  ),
  ...history.tariffs.chains.map((chain, index) =>
    chain.map((step): ArrivalPart => ({ key: `chain ${index}`, group: '', request: { kind: 'tariff', step } })),
  ),
  ...(usesMarket(history) ? history.prices : []).map(block =>
    block.forms.map(
      (prices): ArrivalPart => ({
        key: `prices ${block.start}`,
        group: '',
        request: { kind: 'prices', block, prices },
      }),
    ),
  ),
]

/** Return true if a tariff of the history has market prices, even if that tariff is voided later. */
export const usesMarket = ({ tariffs }: History): boolean =>
  tariffs.chains.flat().some(step => step.kind === 'create' && step.tariff.marketRates)

/** Random generator of a seed and a name. If a part of the history is removed, the other parts keep their values. */
const randomOf = (seed: number, name: string): ReturnType<typeof seededRandom> => {
  let mixed = seed
  for (let i = 0; i < name.length; i += 1) mixed = Math.imul(mixed ^ name.charCodeAt(i), 0x01000193)
  return seededRandom(mixed)
}

/** Put all parts in a random order that keeps the order within each key. */
const shuffled = (history: History): readonly ArrivalPart[] =>
  partsOf(history)
    .flatMap(parts => {
      const times = parts
        .map(({ key }, index) => randomOf(history.seed, `${key} ${index}`).below(1e9))
        .sort((a, b) => a - b)
      return parts.map((part, index) => ({ part, time: times[index] ?? 0 }))
    })
    .sort((a, b) => a.time - b.time)
    .map(({ part }) => part)

type JoinedRequest = { request: Request; readonly keys: Set<string> }

const maxPartsPerRequest = 10

const joinRequests = (request: Request, other: Request): Request => {
  if (request.kind === 'records' && other.kind === 'records')
    return { ...request, records: [...request.records, ...other.records] }
  if (request.kind === 'readings' && other.kind === 'readings')
    return { ...request, readings: [...request.readings, ...other.readings] }
  return request
}

/**
 * Rules for joining parts into requests. `isStrict`: a part may join only the newest request.
 * One in `apart` parts starts a new request.
 */
type CutOptions = { readonly isStrict: boolean; readonly apart: number }

const defaultCut: CutOptions = { isStrict: false, apart: 6 }

/** Join parts into requests. A later part may join the last request of its group. */
const cutIntoRequests = (
  parts: readonly ArrivalPart[],
  seed: number,
  { isStrict, apart }: CutOptions = defaultCut,
): readonly JoinedRequest[] => {
  const requests: JoinedRequest[] = []
  const open = new Map<string, JoinedRequest>()
  for (const [index, { key, group, request }] of parts.entries()) {
    const last = group === '' ? undefined : open.get(group)
    const random = randomOf(seed, `cut ${index} ${key}`)
    if (last !== undefined && !last.keys.has(key) && last.keys.size < maxPartsPerRequest && !random.oneIn(apart)) {
      last.request = joinRequests(last.request, request)
      last.keys.add(key)
      continue
    }
    const joined = { request, keys: new Set([key]) }
    if (isStrict) open.clear()
    requests.push(joined)
    open.set(group, joined)
  }
  return requests.map(({ request, keys }, index) => {
    const isSingleInstantCost = !isStrict && keys.size === 1 && randomOf(seed, `alone ${index}`).oneIn(3)
    return { request: request.kind === 'records' ? { ...request, isInstantCost: isSingleInstantCost } : request, keys }
  })
}

/** Pauses in ms. A null pause lasts until all requests of the wave are processed. */
const pauses = [0, 0, 0, 30, 60, 200, null] as const

type WaveBuilder = {
  readonly requests: Request[]
  readonly keys: Set<string>
  readonly maxRequests: number
  readonly pauseMs: number | null
}

const isChange = ({ kind }: Request): boolean => kind === 'tariff' || kind === 'prices'
const isInstantCost = (request: Request): boolean => request.kind === 'records' && request.isInstantCost

/**
 * An instant cost uses the newest prices. If prices change at the same time, the service may answer 503.
 * Such requests are therefore in different waves.
 */
const fits = ({ requests, keys, maxRequests }: WaveBuilder, { request, keys: own }: JoinedRequest): boolean => {
  if (requests.length === maxRequests || [...own].some(key => keys.has(key))) return false
  return !(isInstantCost(request) && requests.some(isChange)) && !(isChange(request) && requests.some(isInstantCost))
}

/**
 * Return the parts of a history in a random order, in small requests.
 * The worker processes each request before the next request is sent, so that each request is one step.
 */
export const oneByOne = (history: History): readonly Wave[] => {
  const requests = cutIntoRequests(shuffled(history), history.seed, {
    isStrict: false,
    apart: randomOf(history.seed, 'apart').pick([2, 4, 6]),
  })
  const areTariffsFirst = randomOf(history.seed, 'tariffs first').oneIn(2)
  const ordered = areTariffsFirst
    ? requests.toSorted((a, b) => Number(isChange(b.request)) - Number(isChange(a.request)))
    : requests
  return ordered.map(({ request }) => ({ requests: [request], pauseMs: null }))
}

/**
 * Return the parts of a history in a random order and in random requests, some in parallel, as a network delivers them.
 */
export const shuffledArrival = (history: History): readonly Wave[] => {
  const waves: WaveBuilder[] = []
  for (const [index, joined] of cutIntoRequests(shuffled(history), history.seed).entries()) {
    let last = waves.at(-1)
    if (last === undefined || !fits(last, joined)) {
      const random = randomOf(history.seed, `wave ${index}`)
      last = { requests: [], keys: new Set(), maxRequests: 1 + random.below(6), pauseMs: random.pick(pauses) }
      waves.push(last)
    }
    last.requests.push(joined.request)
    for (const key of joined.keys) last.keys.add(key)
  }
  return waves
}

const alone = (request: Request): Wave => ({ requests: [request], pauseMs: 0 })

/**
 * Return the final tariffs and prices, then all records and readings in the order of time.
 * Each record and reading is sent once, in its last form. A withdrawn reading is not sent.
 */
export const arrivalInOrder = (history: History): readonly Wave[] => {
  const tariffs = history.tariffs.final.map((tariff): Request => ({ kind: 'tariff', step: { kind: 'create', tariff } }))
  const prices = (usesMarket(history) ? history.prices : []).map(
    (block): Request => ({ kind: 'prices', block, prices: finalOf(block.forms) }),
  )
  const byTime: { at: number; end: number; part: ArrivalPart }[] = [
    ...history.records.map(record => {
      const request: Request = {
        kind: 'records',
        records: [{ record, form: finalOf(record.forms) }],
        isInstantCost: false,
      }
      return { at: record.start, end: record.end, part: { key: record.name, group: 'records', request } }
    }),
    ...history.registers.flatMap(register =>
      register.readings.flatMap(reading => {
        const value = finalOf(reading.values)
        if (value === null) return []
        const request: Request = { kind: 'readings', register, readings: [{ reading, value }] }
        const part = { key: readingName(register, reading), group: register.name, request }
        return [{ at: reading.time, end: reading.time, part }]
      }),
    ),
  ]
  byTime.sort((a, b) => a.at - b.at || a.end - b.end)
  const metered = cutIntoRequests(
    byTime.map(({ part }) => part),
    history.seed,
    { isStrict: true, apart: 6 },
  )
  return [...tariffs, ...prices, ...metered.map(({ request }) => request)].map(alone)
}
