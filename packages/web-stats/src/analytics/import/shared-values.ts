/** Objects of texts by their place, equal ones once. */
export class SharedValues<Value extends object> {
  readonly values: Value[] = [];
  private readonly places = new Map<Value, number>();
  private readonly placesByText = new Map<string, number>();

  /** The same object again is found without a look at its texts, none of which is empty. */
  placeOf(value: Value): number {
    const known = this.places.get(value);
    if (known !== undefined) return known;
    const text = Object.values(value).join("\0");
    let place = this.placesByText.get(text);
    if (place === undefined) {
      place = this.values.push(value) - 1;
      this.placesByText.set(text, place);
    }
    this.places.set(value, place);
    return place;
  }
}
