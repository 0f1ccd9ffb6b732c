import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hourMs, minuteMs } from '../../../../services/domain/interval.ts'
import { fileIdentities } from '../../../../services/interchange/domain/file-identities.ts'
import type { FileReading } from '../../../../services/interchange/domain/reading.ts'

const enough = 64 * 1_048_576

const base: FileReading = {
  line: 2,
  isRegister: false,
  isRestart: false,
  location: { reference: 'depot' },
  device: null,
  sessionReferenceId: null,
  recordReferenceId: null,
  directions: null,
  units: 'KWH',
  value: '1',
  confidence: null,
  start: 0,
  end: hourMs,
}

const inbound = { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const
const outbound = { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' } as const

/** The identity as text, by the rules of records and of register readings. */
const identityOf = (reading: FileReading): string => {
  const { location, device, sessionReferenceId, recordReferenceId, directions, start, end } = reading
  const { isRegister, isRestart } = reading
  const references = isRegister ? [] : [sessionReferenceId, recordReferenceId]
  return JSON.stringify([location, device, ...references, directions ?? inbound, start, end, isRegister, isRestart])
}

/** Lines of the first readings with the same identity, by a map of all identities. */
const expectedLines = (readings: readonly FileReading[]): readonly (number | null)[] => {
  const lines = new Map<string, number>()
  return readings.map(reading => {
    const identity = identityOf(reading)
    const first = lines.get(identity)
    if (first === undefined) lines.set(identity, reading.line)
    return first ?? null
  })
}

const noteAll = (readings: readonly FileReading[], maxBytes = enough) => {
  const identities = fileIdentities(maxBytes)
  return { lines: readings.map(reading => identities.note(reading)), uncomparedFrom: identities.uncomparedFrom() }
}

/** A stretch of a file: readings in steps of one meter, ascending, descending or all at one time. */
const stretch = fc.record({
  start: fc.integer({ min: -6, max: 6 }),
  step: fc.constantFrom(-2, -1, 0, 1, 1, 1, 2),
  count: fc.integer({ min: 1, max: 24 }),
  lineStep: fc.constantFrom(1, 1, 1, 2, 3),
  hours: fc.constantFrom(1, 1, 1, 2),
  device: fc.constantFrom(null, null, 'a', 'b'),
  session: fc.constantFrom(null, null, null, 's', 't'),
  directions: fc.constantFrom(null, inbound, outbound),
  isRegister: fc.constantFrom(false, false, false, true),
  isRestart: fc.constantFrom(false, false, true),
})

const readingsOf = (stretches: readonly (typeof stretch extends fc.Arbitrary<infer T> ? T : never)[]) => {
  let line = 1
  return stretches.flatMap(
    ({ start, step, count, lineStep, hours, device, session, directions, isRegister, ...more }) =>
      Array.from({ length: count }, (_, index): FileReading => {
        line += lineStep
        const at = (start + step * index) * hourMs
        return {
          ...base,
          ...more,
          line,
          isRegister,
          directions,
          start: at,
          end: isRegister ? at : at + hours * hourMs,
          device: device === null ? null : { reference: device },
          sessionReferenceId: session,
        }
      }),
  )
}

describe('identities of a file', () => {
  it('have the line of the first reading, in any order of the file', () => {
    const property = fc.property(fc.array(stretch, { maxLength: 12 }), fc.boolean(), (stretches, isSorted) => {
      const readings = readingsOf(stretches)
      // Meters that send in turns have other steps of lines than meters one after the other.
      const ordered = isSorted
        ? readings.toSorted((a, b) => a.start - b.start).map((reading, index) => ({ ...reading, line: index + 2 }))
        : readings
      expect(noteAll(ordered).lines).toEqual(expectedLines(ordered))
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  it('have the line of the first reading, if the steps and lengths of a meter differ', () => {
    const step = fc.record({
      minutes: fc.constantFrom(15, 15, 15, 15, 1, 2, 7, 30, 0, -15, -600),
      length: fc.constantFrom(15, 15, 15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
      repeat: fc.integer({ min: 1, max: 40 }),
    })
    const property = fc.property(fc.array(step, { minLength: 40, maxLength: 120 }), fc.boolean(), (steps, descends) => {
      let [at, line] = [0, 1]
      const readings = steps.flatMap(({ minutes, length, repeat }) =>
        Array.from({ length: repeat }, (): FileReading => {
          at += minutes * minuteMs * (descends ? -1 : 1)
          line += 1
          return { ...base, line, start: at, end: at + length * minuteMs }
        }),
      )
      expect(noteAll(readings).lines).toEqual(expectedLines(readings))
    })
    fc.assert(property, { numRuns: 200, endOnFailure: true })
  })

  it('have the line of the first reading, if a meter returns to its interval after many gaps', () => {
    const readings = Array.from({ length: 400 }, (_, index): FileReading => {
      const start = (index + (index % 7)) * hourMs * 10
      return { ...base, line: 2 * index + 2, start, end: start + hourMs }
    })
    const repeated = readings.flatMap(reading => [reading, { ...reading, line: reading.line + 1 }])
    expect(noteAll(repeated).lines).toEqual(readings.flatMap(({ line }) => [null, line]))
  })

  it('differ if only a reference, a direction or the length differs', () => {
    const others: readonly Partial<FileReading>[] = [
      ...[
        { sessionReferenceId: 'a' },
        { recordReferenceId: 'a' },
        { sessionReferenceId: '' },
        { directions: outbound },
      ],
      ...[{ end: 2 * hourMs }, { device: { reference: 'a' } }, { location: { reference: 'b' } }, { isRegister: true }],
      { isRestart: true },
    ]
    const readings = [base, ...others.map((other, index) => ({ ...base, ...other, line: index + 3 }))]
    expect(noteAll(readings).lines).toEqual(readings.map(() => null))
    const values = [base, { ...base, line: 3, value: '2', units: 'WH', confidence: '0.5' } as const]
    expect(noteAll(values).lines).toEqual([null, 2])
  })

  it('of a million readings in steps need no memory of their own', () => {
    const identities = fileIdentities(16_384)
    for (let index = 0; index < 1_000_000; index += 1)
      identities.note({ ...base, line: index + 2, start: index * hourMs, end: (index + 1) * hourMs })
    expect(identities.note({ ...base, line: 2_000_000, start: 654_321 * hourMs, end: 654_322 * hourMs })).toBe(654_323)
    expect(identities.uncomparedFrom()).toBeNull()
  })

  it('of readings in ascending or descending order need about 32 bytes, if their steps and lengths differ', () => {
    for (const sign of [1, -1]) {
      const identities = fileIdentities(3_500_000)
      const readingAt = (index: number): FileReading => {
        const start = sign * (index * hourMs + (index % 7) * minuteMs)
        return { ...base, line: index + 2, start, end: start + (1 + (index % 3)) * minuteMs }
      }
      for (let index = 0; index < 100_000; index += 1) expect(identities.note(readingAt(index))).toBeNull()
      expect(identities.uncomparedFrom()).toBeNull()
      for (const index of [0, 1, 8_191, 8_192, 12_288, 99_999])
        expect(identities.note({ ...readingAt(index), line: 200_000 })).toBe(index + 2)
    }
  })

  it('are compared until the memory is full', () => {
    const readings = Array.from({ length: 5_000 }, (_, index) => ({
      ...base,
      line: index + 2,
      sessionReferenceId: `${index}`,
    }))
    const repeated = readings.map(reading => ({ ...reading, line: reading.line + 5_000 }))
    const full = noteAll([...readings, ...repeated], 50_000)
    expect(full.uncomparedFrom).toBeGreaterThan(1_000)
    expect(full.lines.filter(line => line !== null)).toEqual([])
    const all = noteAll([...readings, ...repeated])
    expect(all.lines.slice(5_000)).toEqual(readings.map(({ line }) => line))
    expect(all.uncomparedFrom).toBeNull()
  })
})
