/** Object type with optional members instead of undefined values. */
type OmitUndefined<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Copy an object without its undefined members. */
export const omitUndefined = <T extends Readonly<Record<string, unknown>>>(members: T): OmitUndefined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as OmitUndefined<T>
