declare module 'saxen' {
  type Decode = (text: string) => string

  /** Parser of XML in chunks. Names and texts are as they are in the file. */
  export class Parser {
    on(
      event: 'openTag',
      listener: (name: string, attributes: () => Record<string, string>, decode: Decode) => void,
    ): this
    on(event: 'closeTag', listener: (name: string) => void): this
    on(event: 'text', listener: (text: string, decode: Decode) => void): this
    on(event: 'cdata' | 'attention', listener: (text: string) => void): this
    on(event: 'error', listener: (error: Error) => void): this
    write(text: string): this
    end(): unknown
  }
}
