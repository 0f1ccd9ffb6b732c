import { z } from 'zod'

/**
 * Shapes of values that a request can leave out, and of values that are read as others. Results and refusals are those of
 * `nullish` and `transform` of zod. These create several objects for each value, and a body has up to 150,000 values.
 */

/** Value that a shape has read, with its issues. `refuseField` adds an issue. */
export type ReadContext = z.core.ParsePayload<unknown>

/** An object with an unknown member is read nevertheless. */
const isFatal = ({ code }: z.core.$ZodRawIssue): boolean => code !== 'unrecognized_keys'

/** Read a value by a shape. `aborted` is true for an invalid value: later checks do not run. */
const readBy = (
  shape: z.core.$ZodType,
  payload: ReadContext,
  context: z.core.ParseContextInternal,
): z.core.ParsePayload => {
  const read = shape._zod.run(payload, context)
  if (read instanceof Promise) throw new TypeError('The shape of a request must be synchronous.')
  if (read.issues.length > 0 && read.issues.some(isFatal)) read.aborted = true
  return read
}

type TransformDef = z.core.$ZodPipeDef & { readonly read: (value: unknown, context: ReadContext) => unknown }

const RequestTransform = z.core.$constructor<z.ZodPipe, TransformDef>('RequestTransform', (schema, def) => {
  z.ZodPipe.init(schema, def)
  const { in: shape, read } = def
  schema._zod.parse = (payload, context) => {
    const valid = readBy(shape, payload, context)
    if (valid.aborted !== true) valid.value = read(valid.value, valid)
    return valid
  }
})

type OptionalDef = z.core.$ZodPipeDef & { readonly present: z.core.$ZodType; readonly absent: unknown }

const RequestOptional = z.core.$constructor<z.ZodPipe, OptionalDef>('RequestOptional', (schema, def) => {
  z.ZodPipe.init(schema, def)
  const { present, absent } = def
  schema._zod.parse = (payload, context) => {
    const { value } = payload
    const read = value === undefined || value === null ? payload : readBy(present, payload, context)
    read.value ??= absent
    return read
  }
})

/** The schemas of these classes read a value themselves. The document of a request has no output. */
const unused = z.transform(() => undefined)

/** Read the valid values of a shape as others. */
export const transformed = <Shape extends z.ZodType, Value>(
  shape: Shape,
  read: (value: z.output<Shape>, context: ReadContext) => Value,
): z.ZodPipe<Shape, z.ZodTransform<Value, z.output<Shape>>> =>
  new RequestTransform({ type: 'pipe', in: shape, out: unused, read: read as TransformDef['read'] }) as never

/** Shape of an optional value. Null and absent are read as `absent`. */
export const optionalOr = <Shape extends z.ZodType, Absent>(
  shape: Shape,
  absent: Absent,
): z.ZodPipe<
  z.ZodOptional<z.ZodNullable<Shape>>,
  z.ZodTransform<z.output<Shape> | Absent, z.output<Shape> | null | undefined>
> => new RequestOptional({ type: 'pipe', in: shape.nullish(), out: unused, present: shape, absent }) as never
