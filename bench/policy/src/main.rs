//! Measures policies and prints Markdown: matching, compiling, consumers. What is measured is in the other files.

mod compiling;
mod consumers;
mod matching;
mod stopwatch;

fn main() {
    println!("{}", matching::table());
    println!("{}", compiling::table());
    println!("{}", consumers::table());
}
