/** The members of an object without those that may be undefined. */
type OmitUndefined<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Leave out the members that are undefined, so that what stays is what was given. */
export const omitUndefined = <T extends Readonly<Record<string, unknown>>>(members: T): OmitUndefined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as OmitUndefined<T>
