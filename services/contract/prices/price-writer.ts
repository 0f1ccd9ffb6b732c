import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { dayMs } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { Energy, Price } from '../../domain/quantity.ts'
import { confidenceScale } from '../costs/instant-cost.ts'
import { isJsonNumber, type JsonNumber, nanoNumber } from '../json/exact-number.ts'

/** A decimal number of a long series: written exactly, as a double where that has the same text. */
export const seriesNumber = z.custom<JsonNumber>(isJsonNumber).meta({ type: 'number' })

/** Writes a long series: what neighbours have in common is made once. */
export type PriceWriter = {
  /** Write an instant in the offset that the answer has then. */
  readonly instant: (at: number) => string
  /** Write a price in major units per kWh. */
  readonly price: (price: Price) => JsonNumber
  /** Write a confidence of 1e-4. */
  readonly confidence: (confidence: number) => JsonNumber
  /** Write an energy in kWh. */
  readonly kwh: (energy: Energy) => JsonNumber
}

/**
 * Date and clock of neighbours recur, so each is written once for the whole series; a clock of an offset ends with the offset. The end of
 * an element is the start of the next.
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

/** Make a writer for one answer. */
export const priceWriter = (offsetOf: AnswerOffset): PriceWriter => ({
  instant: instantWriter(offsetOf),
  price: nanoNumber,
  confidence: confidence => (confidence >= 1 ? confidence / 10 ** confidenceScale : 0),
  kwh: nanoNumber,
})
