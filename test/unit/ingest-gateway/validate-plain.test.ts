import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ApiVersion } from '../../../services/contract/api-version.ts'
import type { RawBody } from '../../../services/contract/operation.ts'
import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'
import { noReferenceIds } from '../../../services/domain/reference.ts'
import { knownObjects } from '../../../services/ingest-gateway/known-objects.ts'
import { knownReferences } from '../../../services/ingest-gateway/known-references.ts'
import { validateSubmission } from '../../../services/ingest-gateway/submit-interval.ts'
import { validatePlain } from '../../../services/ingest-gateway/validate-plain.ts'
import type { ValidatedSubmission, ValidationContext } from '../../../services/ingest-gateway/validate-records.ts'
import { decodeRecordChunk, joinParts } from '../../../services/record-bytes/record-chunk.ts'
import { ordinaryBody } from '../../support/metering/meter-body.ts'
import { parseSubmission } from '../../support/metering/parse-submission.ts'
import { at, missing, submission } from '../../support/metering/unusual-submissions.ts'

/** A register whose records mostly need more power. */
const weakRegister: RegisterRule = { kind: 'LIFETIME', digits: null, maxPower: 1_000n }

const validationContext = (
  apiVersion: ApiVersion = 'current',
  rule: RegisterRule | null = null,
): ValidationContext => ({
  part: {
    accountId: 'acc_0198c0ffee00112233445566',
    liveMode: true,
    batchId: 'bat_0198c0ffee00112233445566',
    receivedAt: at,
  },
  apiVersion,
  at,
  known: knownObjects(
    async (_, ids) =>
      new Map(
        [...ids.locations, ...ids.devices]
          .filter(id => !missing.includes(id))
          .map(id => [id, Number.parseInt(id.slice(-2), 16) % 2 === 1 ? rule : null]),
      ),
    (_, id) => Number(id.at(-1)) % 2,
  ),
  references: knownReferences(async () => noReferenceIds),
})

/** Validation result, with the decoded records of its parts. */
const shown = ({ parts, ...counts }: ValidatedSubmission) => {
  const recordsOf = (lane: number) =>
    decodeRecordChunk(joinParts(parts.get(lane) ?? [], 0), 0).parts.flatMap(part => part.records)
  const numbers = [...parts.values()].flat().flatMap(part => part.recordNumbers)
  return {
    ...counts,
    lanes: [...parts.keys()].sort(),
    records: [...parts.keys()].sort().map(recordsOf),
    numbers: numbers.sort((a, b) => a - b),
  }
}

const validateGenerally = async (body: RawBody, by: ValidationContext) => {
  const parsed = await parseSubmission(body)
  return parsed.ok ? shown(await validateSubmission(parsed.value, by)) : parsed
}

const bodyOf = (text: string | Uint8Array, inLines = false): RawBody => ({
  bytes: typeof text === 'string' ? Buffer.from(text) : text,
  mediaType: inLines ? 'application/x-ndjson' : 'application/json',
})

describe('a body that is validated from its bytes', () => {
  it('has the result of its parsed form, in any format, or is left to the parser', async () => {
    const seen = { validated: 0, refusals: 0, powers: 0, left: 0, implausible_energy: 0, overlapping_records: 0 }
    await fc.assert(
      fc.asyncProperty(submission, async ({ apiVersion, inLines, text }) => {
        const body = bodyOf(text, inLines)
        const plain = await validatePlain(body, validationContext(apiVersion, weakRegister))
        if (plain === null) seen.left += 1
        else {
          seen.validated += 1
          if (plain.refused.length > 0) seen.refusals += 1
          for (const { code } of plain.warnings) seen[code] += 1
          if (plain.refused.some(({ error }) => error.startsWith('implausible_energy: '))) seen.powers += 1
          expect(shown(plain)).toEqual(await validateGenerally(body, validationContext(apiVersion, weakRegister)))
        }
      }),
      { numRuns: 8_000 },
    )
    expect(Math.min(seen.validated, seen.left)).toBeGreaterThan(400)
    expect(Math.min(seen.refusals, 2 * seen.powers)).toBeGreaterThan(20)
    expect(Math.min(seen.implausible_energy, seen.overlapping_records)).toBeGreaterThan(5)
  })

  it('has the same result with any byte changed, removed or inserted', async () => {
    const text = Buffer.from(ordinaryBody({ records: 2, at, round: 1 }).replace('record-1', 'Satz ü'))
    const byte = fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[],:"\\ \n0e.-')))
    const corrupted = fc.tuple(fc.nat(text.length - 1), byte, fc.constantFrom(0, 1, 2)).map(([place, code, cut]) => {
      const remaining = cut === 2 ? [] : [code]
      return Buffer.concat([
        text.subarray(0, place),
        Buffer.from(remaining),
        text.subarray(cut === 0 ? place : place + 1),
      ])
    })
    await fc.assert(
      fc.asyncProperty(corrupted, async bytes => {
        const plain = await validatePlain(bodyOf(bytes), validationContext())
        if (plain !== null) expect(shown(plain)).toEqual(await validateGenerally(bodyOf(bytes), validationContext()))
      }),
      { numRuns: 8_000 },
    )
  }, 60_000)
})

describe('an ordinary body', () => {
  const validated = async (text: string, inLines = false, apiVersion: ApiVersion = 'current') =>
    (await validatePlain(bodyOf(text, inLines), validationContext(apiVersion)))?.recordsAccepted ?? null
  const ordinary = ordinaryBody({ records: 500, at, round: 1 })

  it('is validated from its bytes, in many parts if it is long', async () => {
    expect(await validated(ordinary)).toBe(500)
    const long = ordinaryBody({ records: 10_000, at, round: 1, sites: 1 })
    const plain = await validatePlain(bodyOf(long), validationContext())
    expect(plain?.recordsAccepted).toBe(10_000)
    expect(plain === null || shown(plain)).toEqual(await validateGenerally(bodyOf(long), validationContext()))
    for (const part of [...(plain?.parts.values() ?? [])].flat())
      expect(part.recordNumbers.length).toBeLessThanOrEqual(500)
  })

  it('is so with numbers as binary calculation leaves them, each read to the last digit', async () => {
    const records: readonly Record<string, unknown>[] = JSON.parse(ordinary)
    const body = bodyOf(
      JSON.stringify(records.map((record, index) => ({ ...record, value: 250 + ((index * 7919) % 100_000) / 1000 }))),
    )
    expect(Buffer.from(body.bytes).toString()).toContain('292.54200000000003')
    const plain = await validatePlain(body, validationContext())
    expect(plain?.recordsAccepted).toBe(500)
    expect(plain === null || shown(plain)).toEqual(await validateGenerally(body, validationContext()))
    expect(await validated(ordinary.replace(/"value":[\d.]+/, `"value":1.${'0'.repeat(39)}`))).toBe(500)
    expect(await validated(ordinary.replace(/"value":[\d.]+/, `"value":1.${'0'.repeat(40)}`))).toBeNull()
    expect(await validated(ordinary.replace(/"value":[\d.]+/, '"value":123456789.0123456789'))).toBeNull()
  })

  it('can have spaces, indentation, lines, nulls, or the earlier API version', async () => {
    const records: readonly Record<string, unknown>[] = JSON.parse(ordinary)
    expect(
      await validated(
        ordinary
          .replaceAll(':', ': ')
          .replaceAll('T00: 00: 00Z', 'T00:00:00Z')
          .replaceAll(/(\d\d): (\d\d): (\d\dZ)/g, '$1:$2:$3')
          .replaceAll(',"', ', "'),
      ),
    ).toBe(500)
    expect(await validated(JSON.stringify(records, null, 2))).toBe(500)
    expect(await validated(`${records.map(record => JSON.stringify(record)).join('\r\n')}\n`, true)).toBe(500)
    expect(
      await validated(
        ordinary.replaceAll('"energy_flow_direction":"INBOUND"', '"direction":"IMPORT"'),
        false,
        'earlier',
      ),
    ).toBe(500)
    expect(
      await validated(JSON.stringify(records.map(record => ({ ...record, device_id: null, confidence: 0.75 })))),
    ).toBe(500)
    expect(
      await validated(
        JSON.stringify(records.map(record => ({ ...record, units: 'KW', session_reference_id: 'Sitzung ä' }))),
      ),
    ).toBe(500)
  })

  it('is left alone where it is not plain', async () => {
    for (const text of ['', '[]', '{}', '[1]', '[{}]', ordinary.replace('"WH"', '"\\u0057H"'), `${ordinary}]`])
      expect(await validated(text)).toBeNull()
    expect(await validated(ordinaryBody({ records: 10_001, at, round: 1 }))).toBeNull()
  })
})

describe('a body between others', () => {
  const requested = (ids: readonly string[]) => ({ locations: new Set(ids), devices: new Set<string>() })
  const others = Array.from(
    { length: 8 },
    (_, index) => `loc_0198c0ffee0000000000ff${index.toString().padStart(2, '0')}`,
  )
  const all = ordinaryBody({ records: 40, at, round: 1, sites: 4 })
  /** A memory of some objects of a registry that has all. */
  const memory = (most: number) =>
    knownObjects(
      async (_, ids) => new Map([...ids.locations, ...ids.devices].map(id => [id, null])),
      () => 0,
      most,
    )

  it('is accepted with objects that were forgotten while others were asked for', async () => {
    const known = memory(42)
    const { part } = validationContext()
    await known.resolve(part, requested(['loc_0198c0ffee00000000000000']), at)
    expect((await validatePlain(bodyOf(all), { ...validationContext(), known }))?.recordsAccepted).toBe(40)
  })

  it('is accepted with objects that another body has made forgotten between its turns', async () => {
    const real = memory(44)
    const { part } = validationContext()
    const known: typeof real = {
      ...real,
      resolve: async (tenant, ids, now) => {
        const found = await real.resolve(tenant, ids, now)
        await real.resolve(part, requested(others), now)
        return found
      },
    }
    expect((await validatePlain(bodyOf(all), { ...validationContext(), known }))?.recordsAccepted).toBe(40)
    const parsed = await parseSubmission(bodyOf(all))
    expect(
      parsed.ok && (await validateSubmission(parsed.value, { ...validationContext(), known })).recordsAccepted,
    ).toBe(40)
  })
})
