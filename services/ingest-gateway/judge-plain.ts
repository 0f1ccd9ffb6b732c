import { submissionLimits } from '../contract/account.ts'
import { type JsonCursor, jsonCursor } from '../contract/json-cursor.ts'
import { isInLines } from '../contract/meter-batch.ts'
import type { RawBody } from '../contract/operation.ts'
import { firstElement, nextElement } from '../contract/plain-body.ts'
import { type PlainReader, plainReader, readPlainRecord, type TextPlace } from '../contract/plain-record.ts'
import { beginSlices } from '../contract/slices.ts'
import type { RefusedRecord } from '../platform/log/messages.ts'
import { addRecord, beginPart, type EncodedPart, endPart, isFull, type PartWriter, partWriter } from '../platform/log/record-part.ts'
import { idOf } from './id-table.ts'
import { duplicateOf, type JudgedSubmission, type Judgement, missingObject } from './judge-submission.ts'
import type { KnownObject } from './known-objects.ts'
import { recordIdBits } from './record-id.ts'
import { type TwinTable, twinTable } from './twin-table.ts'

/** A submission on its way through. */
type Walk = Judgement & {
  readonly reader: PlainReader
  readonly owner: ReturnType<Judgement['known']['ownerOf']>
  readonly inLines: boolean
  /** Ids that were met, not known for certain, and not asked for yet. */
  readonly unsure: { readonly locations: Set<string>; readonly devices: Set<string> }
  /** Ids that were asked for; null: there is no such object. What is known may be forgotten between two turns, this is not. */
  readonly told: ReadonlyMap<string, KnownObject | null>
  readonly twins: TwinTable
  readonly lanes: Map<number, Lane>
  readonly refused: RefusedRecord[]
  records: number
}

/** What goes to one lane: parts that are full, and the one that is being written. */
type Lane = { readonly writer: PartWriter; readonly parts: EncodedPart[] }

/**
 * Judge a submission straight from the bytes of its body; null where they are not of the plain form that clients usually send: then
 * nothing is said, and the body is to be judged by what it parses to. Where there is an answer, it is the one that `judgeSubmission` gives.
 * Asks for objects that are not known, and then goes through the body again, until nothing is unsure: each id is asked for once at most.
 */
export const judgePlain = async (body: RawBody, judgement: Judgement): Promise<JudgedSubmission | null> => {
  const told = new Map<string, KnownObject | null>()
  for (;;) {
    const unsure = { locations: new Set<string>(), devices: new Set<string>() }
    const judged = await goThrough(body, judgement, { unsure, told })
    if (judged === null || unsure.locations.size + unsure.devices.size === 0) return judged
    const found = await judgement.known.ask(judgement.part, unsure, judgement.at)
    for (const ids of [unsure.locations, unsure.devices]) for (const id of ids) told.set(id, found.get(id) ?? null)
  }
}

/** A record of all that is required has at least so many bytes. */
const leastBytes = 128

const goThrough = async (
  body: RawBody,
  judgement: Judgement,
  { unsure, told }: Pick<Walk, 'unsure' | 'told'>,
): Promise<JudgedSubmission | null> => {
  const { part, layout, at, known } = judgement
  const from = jsonCursor(body.bytes)
  const most = Math.min(submissionLimits.records, Math.ceil(from.length / leastBytes))
  const walk: Walk = {
    ...judgement,
    reader: plainReader(from, layout, at),
    owner: known.ownerOf(part),
    inLines: isInLines(body),
    unsure,
    told,
    twins: twinTable(most),
    lanes: new Map(),
    refused: [],
    records: 0,
  }
  try {
    if (!(await goOn(walk, from, most))) return null
    for (const { writer, parts } of walk.lanes.values()) if (writer.recordNumbers.length > 0) parts.push(endPart(writer, part))
  } finally {
    for (const { writer } of walk.lanes.values()) if (spare.length < mostSpare) spare.push(writer)
  }
  const parts = new Map([...walk.lanes].map(([lane, { parts }]) => [lane, parts]))
  return { parts, recordsSubmitted: walk.records, recordsAccepted: walk.records - walk.refused.length, refused: walk.refused }
}

/** Writers that are not in use; more than these are left to the collector. */
const spare: PartWriter[] = []
const mostSpare = 64

/** Records that are read between two looks at the clock. */
const recordsAtOnce = 256

const goOn = async (walk: Walk, from: JsonCursor, most: number): Promise<boolean> => {
  const { inLines, reader, part } = walk
  const slices = beginSlices(part.accountId)
  let ahead = firstElement(from, inLines)
  while (ahead === 'element') {
    const start = from.at
    if (walk.records === most || !readPlainRecord(reader)) return false
    walk.records += 1
    admit(walk)
    ahead = nextElement(from, inLines, start)
    if (walk.records % recordsAtOnce === 0 && slices.isOver()) await slices.rest()
  }
  return ahead === 'end'
}

/** Find an object; null: there is none, undefined: it must be asked for. */
const find = ({ known, owner, at, told }: Walk, isDevice: boolean, bits: Int32Array): KnownObject | null | undefined => {
  const found = known.find(owner, isDevice, bits, at)
  return found === undefined && told.size > 0 ? told.get(idOf(isDevice, bits)) : found
}

/** Refuse the record if it names what does not exist or repeats another one; else give it its id and write it. */
const admit = (walk: Walk): void => {
  const { unsure, twins, part, records } = walk
  const { record, from } = walk.reader
  const hasDevice = record.device.at >= 0
  const location = find(walk, false, record.location.bits)
  const device = hasDevice ? find(walk, true, record.device.bits) : null
  if (location === undefined) unsure.locations.add(idOf(false, record.location.bits))
  if (device === undefined) unsure.devices.add(idOf(true, record.device.bits))
  // The body is gone through again; what is written now is not used.
  if (location === undefined || device === undefined || unsure.locations.size + unsure.devices.size > 0) return
  const missing = missingObject(location !== null, !hasDevice || device !== null)
  if (location === null || missing !== null) {
    refuse(walk, missing ?? '')
    return
  }
  const id = recordIdBits(part, record, from)
  const twin = twins.note(id, records)
  if (twin === 0) addRecord(writerOf(walk, location), location, device, record, from.view, records, id)
  else refuse(walk, duplicateOf(twin))
}

const refuse = ({ reader: { record, from }, refused, records }: Walk, error: string): void => {
  refused.push({
    recordNumber: records,
    recordReferenceId: textAt(from, record.recordReference),
    error,
    locationId: idOf(false, record.location.bits),
    deviceId: record.device.at >= 0 ? idOf(true, record.device.bits) : null,
  })
}

const textAt = ({ bytes }: JsonCursor, { at, length }: TextPlace): string | null =>
  length === 0 ? null : Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString()

const writerOf = ({ lanes, part }: Walk, { lane }: KnownObject): PartWriter => {
  let found = lanes.get(lane)
  if (found === undefined) {
    found = { writer: spare.pop() ?? partWriter(), parts: [] }
    beginPart(found.writer)
    lanes.set(lane, found)
  } else if (isFull(found.writer)) {
    found.parts.push(endPart(found.writer, part))
    beginPart(found.writer)
  }
  return found.writer
}
