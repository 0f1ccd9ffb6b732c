import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'
import type { Energy, Price } from '../../domain/quantity.ts'
import { confidenceScale } from '../answer-field.ts'
import { type JsonNumber, nanoNumber } from '../json/exact-number.ts'

/** Writer for a long series. Consecutive elements share texts. */
export type PriceWriter = {
  /** Write an instant in the offset of the answer at that instant. */
  readonly instant: (at: number) => string
  /** Write a price in major units per kWh. */
  readonly price: (price: Price) => JsonNumber
  /** Write a confidence of 1e-4. */
  readonly confidence: (confidence: number) => JsonNumber
  /** Write an energy in kWh. */
  readonly kwh: (energy: Energy) => JsonNumber
}

/**
 * Create a writer of instants. Dates and times of day recur in a series, so each text is created once for each offset.
 * The end of an element is the start of the next element.
 */
const instantWriter = (offsetOf: AnswerOffset): ((at: number) => string) => {
  let clocks = new Map<number, string>()
  let clocksOffset = Number.NaN
  let lastDay = Number.NaN
  let date = ''
  let lastAt = Number.NaN
  let lastText = ''
  const write = (at: number): string => {
    const offsetMinutes = offsetOf(at)
    if (offsetMinutes !== clocksOffset) {
      clocks = new Map()
      clocksOffset = offsetMinutes
    }
    const local = at + offsetMinutes * 60_000
    const day = Math.floor(local / dayMs)
    const clock = clocks.get(local - day * dayMs)
    if (day === lastDay && clock !== undefined) return date + clock
    const text = writeInstant(at, offsetMinutes)
    const timeIndex = text.indexOf('T')
    lastDay = day
    date = text.slice(0, timeIndex)
    clocks.set(local - day * dayMs, text.slice(timeIndex))
    return text
  }
  return at => {
    if (at !== lastAt) {
      lastText = write(at)
      lastAt = at
    }
    return lastText
  }
}

/** Create a writer for one answer. */
export const priceWriter = (offsetOf: AnswerOffset): PriceWriter => ({
  instant: instantWriter(offsetOf),
  price: nanoNumber,
  confidence: confidence => (confidence >= 1 ? confidence / 10 ** confidenceScale : 0),
  kwh: nanoNumber,
})
